// The sections of weir-bench: one `.cc` each, one table that lists them (section.cc).
//
// A section measures, and verifies what it measured: a kernel's result against a plain reference, a
// message's bytes on arrival. A result that is wrong is an error, whatever its speed.
//
// Thread rule: one section at a time, from the main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "tools/bench/line.h"

namespace weir::bench {

struct Card;  // tools/bench/card.h
using OpenCard = std::function<Result<Card>(kernels::Precision, int64_t batch_rows)>;

struct Options {
  int repeats = 5;     // of each measurement, in turns with its peer's
  bool quick = false;  // smallest sizes, one repeat: does it run and verify; the times mean nothing
  std::string peers = {};   // a folder whose bin/python runs peers in Python; "" is Debian's
  std::string device = {};  // the card, as --device has it
  OpenCard open_card = {};  // which sections that measure one open
};

struct Section {
  std::string_view name;
  std::string_view help;
  Result<Lines> (*run)(const Options&);
  bool one_processor = false;  // the quieter of two, for all it runs, its peers too
  bool on_card = false;        // without a card `all` leaves it out
};

std::span<const Section> Sections();

// The section of that name, or null.
const Section* FindSection(std::string_view name);

}  // namespace weir::bench
