// Short names for configs: what must agree between the processes of a run, compared in hello, and
// the whole resolved config, written to summary.json.
//
// Processes are started from files that may differ on purpose (paths, timeouts, policies, a
// window), so only what would make them compute different things is hashed, in five parts that can
// be named when they differ.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/proto/config.pb.h"

namespace weir::config {

struct RunHashes {
  uint64_t model = 0;     // the model section and run.seed: initial values, precision
  uint64_t data = 0;      // the reader with its settings; no paths
  uint64_t update = 0;    // the update section
  uint64_t pipeline = 0;  // the splits of the pipeline section
  // How leases cut the input: lines of a chunk, whether there is anything to test on, epochs,
  // shuffle; and what messages may hold. How many files there are, which patterns leave open, the
  // coordinator compares when workers join.
  uint64_t agreement = 0;

  bool operator==(const RunHashes&) const = default;
};

// What a run's place in its data is of: the reader, and how leases cut the input.
uint64_t HashPlaces(const v1::DataConfig& data);

// config: resolved.
RunHashes HashRun(const v1::Config& config);

// Which parts differ, with the fields to look at; "" when none does.
std::string DescribeMismatch(const RunHashes& ours, const RunHashes& theirs);

// 16 hexadecimal digits over every field of the resolved config.
std::string ConfigHash(const v1::Config& config);

}  // namespace weir::config
