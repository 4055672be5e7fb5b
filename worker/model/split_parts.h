// A slice's frames at a split: which part of its block each has, and what is remembered of it.
//
// Place in the life of a batch: forward -> **split** -> forward; and back.
// Thread rule: values; they borrow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "common/base/bytes.h"
#include "common/base/function_ref.h"
#include "common/base/status.h"
#include "common/split/split_policy.h"
#include "worker/model/slice.h"
#include "worker/model/split_counts.h"

namespace weir::model {

// Frames of a slice.
inline size_t FrameCount(const Slice& slice) {
  return static_cast<size_t>((slice.row_count + kSplitRows - 1) / kSplitRows);
}

// Which split of which batch, what decides, and what is remembered of each frame of a slice.
struct SplitCross {
  uint64_t batch = 0;
  uint32_t split = 0;
  split::SplitPolicy& policy;
  std::span<split::BlockMemory> memory;
};

// Where a frame is appended, and where the next one is read.
using FrameOut = FunctionRef<Bytes*()>;
using FrameIn = FunctionRef<Result<wire::FrameView>()>;

// A frame's part of a slice.
struct FramePart {
  size_t number;  // in the slice
  int64_t begin, samples;
  split::BlockName name;
};

inline FramePart PartOf(const SplitCross& crossing, const Slice& slice, size_t number) {
  const auto begin = static_cast<int64_t>(number) * kSplitRows;
  const auto in_batch =
      static_cast<uint32_t>(slice.begin / kSplitRows) + static_cast<uint32_t>(number);
  return {number,
          begin,
          std::min(kSplitRows, slice.row_count - begin),
          {crossing.batch, crossing.split, in_batch}};
}

template <typename Visit>
Status ForEachPart(const SplitCross& crossing, const Slice& slice, const Visit& visit) {
  for (size_t i = 0; i < FrameCount(slice); ++i) {
    WEIR_RETURN_IF_ERROR(visit(PartOf(crossing, slice, i), &crossing.memory[i]));
  }
  return OkStatus();
}

// The part's samples of a block.
template <typename Matrix>
Matrix SamplesOf(const Matrix& block, const FramePart& part) {
  return {block.data + part.begin, block.row_count, part.samples, block.stride};
}

// Of what write() appends.
template <typename Write>
uint64_t BytesOf(const Bytes& out, const Write& write) {
  const size_t before = out.size();
  write();
  return out.size() - before;
}

inline void CountForward(const split::SplitPolicy& policy, int64_t elements, uint64_t bytes,
                         SplitCounts* counts) {
  if (counts == nullptr) return;
  counts->elements += static_cast<uint64_t>(elements);
  counts->elements_sent += policy.sent_count();
  counts->forward_bytes += bytes;
  counts->threshold = policy.threshold();
}

}  // namespace weir::model
