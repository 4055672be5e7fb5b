// How the selected elements of one stripe are named on the wire: strictly increasing offsets within
// the stripe, in the smallest of three codings. At a density d the bound is H(d)/d bits an index;
// Rice codes come within 1 % of it on random positions, and a parameter for each block follows
// gradients that cluster.
//
// Place in the life of a batch: piece frames (common/wire/piece_frame.h) call this once a block.
// Thread rule: pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace weir::wire {

// Elements of a full block; offsets within a block fit into 12 bits.
inline constexpr uint32_t kMaxBlockElements = 4096;

// With offsets below 4096 a larger parameter never gives a smaller code.
inline constexpr uint32_t kMaxIndexRiceParameter = 11;

enum class IndexCoding : uint8_t {
  kDense = 0,   // every element is selected; no bits
  kBitmap = 1,  // one bit an element
  kRice = 2,    // Rice codes of the gaps
};

struct IndexPlan {
  IndexCoding coding = IndexCoding::kDense;
  uint32_t rice_parameter = 0;  // 0 unless coding is kRice
  uint64_t bits = 0;

  size_t bytes() const { return static_cast<size_t>((bits + 7) / 8); }
};

// The coding that takes fewest bytes, exactly; on a tie the bitmap, which decodes faster.
// indexes: strictly increasing, below stripe_elements, not empty. stripe_elements: 1..4096.
IndexPlan PlanIndexes(std::span<const uint16_t> indexes, uint32_t stripe_elements);

// Appends plan.bytes() bytes to *out. plan: from PlanIndexes of the same indexes.
void AppendIndexes(std::span<const uint16_t> indexes, const IndexPlan& plan, Bytes* out);

// Decodes indexes.size() offsets of kBitmap or kRice from the beginning of bytes, which may go on
// behind them. Returns the bytes used. InvalidData unless the offsets are below stripe_elements and
// exactly as many as asked for, and unless padding bits are zero. indexes: 1..stripe_elements.
Result<size_t> DecodeIndexes(IndexCoding coding, uint32_t rice_parameter, uint32_t stripe_elements,
                             ByteSpan bytes, std::span<uint16_t> indexes);

}  // namespace weir::wire
