// What crossed a split in training.
//
// Place in the life of a batch: beside what crosses.
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>

#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"

namespace weir::model {

struct SplitCounts {
  uint64_t elements = 0;       // of the activations
  uint64_t elements_sent = 0;  // of them
  uint64_t forward_bytes = 0;  // frames
  uint64_t backward_bytes = 0;
  std::optional<double> threshold;  // of the last block (SplitPolicy::threshold)

  void Add(const SplitCounts& other);
  void FillReport(const v1::SplitConfig& split, v1::SplitReport* report) const;
};

}  // namespace weir::model
