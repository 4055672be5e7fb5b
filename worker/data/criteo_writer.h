// Writes synthetic rows as a Criteo click log: reading the file gives the same inputs as the
// synthetic reader, so long as both have the same rows_per_table.
//
// Place in the life of a batch: before it; weir-data makes input files.
// Thread rule: thread-compatible. Call order: Create Write* Close.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "worker/data/synthetic.h"
#include "worker/data/text_writer.h"

namespace weir::data {

class CriteoWriter {
 public:
  // As TextWriter creates it: compressed when path ends in .gz, and in place once it is closed.
  static Result<std::unique_ptr<CriteoWriter>> Create(const std::string& path);

  // row has Criteo's 13 counts and 26 ids below 2^32.
  Status Write(const SyntheticRow& row);

  // Puts the file in its place. Nothing may be called after it.
  Status Close();

 private:
  explicit CriteoWriter(std::unique_ptr<TextWriter> text) : text_(std::move(text)) {}

  const std::unique_ptr<TextWriter> text_;
  std::string line_;
};

}  // namespace weir::data
