// What the sections of a shard's cut (shard_cut.h) leave out, and how they are given back.
//
// Place in the life of a batch: none.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/proto/saved_model.pb.h"

namespace weir::server {

struct CutSummary {
  std::vector<uint64_t> versions;    // of each stage, its last push
  std::vector<uint64_t> row_counts;  // of each row partition
  v1::RuleStarts rule_starts;

  Bytes Encode() const;
  // InvalidData for what Encode does not make.
  static Result<CutSummary> Decode(ByteSpan bytes);
};

// The sections, in their order; nothing behind the last.
using NextSection = std::function<Result<std::optional<Bytes>>()>;

}  // namespace weir::server
