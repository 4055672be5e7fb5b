// The writer's side of a block of Rice codes: a run of stripes whose gaps share one parameter.
//
// The parameter is chosen when the run ends, as the one that takes fewest bits, exactly. For that
// the run keeps, for every parameter, the sum of the gaps' quotients, so that what a further stripe
// would add is known before it joins.
//
// Place in the life of a batch: select -> **piece frame writer** -> push, and the answer's.
// Thread rule: thread-compatible.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/wire/index_coding.h"
#include "common/wire/rice.h"

namespace weir::wire {

// For each parameter, the sum of gap >> parameter; at most the elements of a piece, as 32 bits are.
using QuotientSums = std::array<uint32_t, kMaxIndexRiceParameter + 1>;

// One stripe's gaps. Large: keep one and assign to it.
class StripeGaps {
 public:
  // indexes: strictly increasing, below kMaxStripeElements, not empty.
  void Assign(uint32_t stripe, std::span<const uint16_t> indexes);

  // Elements of the piece before the first selected one and up to the last.
  uint64_t first() const { return first_; }
  uint64_t end() const { return end_; }
  uint32_t stripe() const { return static_cast<uint32_t>(first_ / kMaxStripeElements); }
  size_t count() const { return count_; }
  // Between the stripe's elements: count() - 1 gaps and their sums.
  std::span<const uint16_t> inner() const { return {gaps_.data(), count_ - 1}; }
  const QuotientSums& inner_sums() const { return inner_sums_; }

  // The best size of a block that has these gaps alone. start: a parameter that may be the best.
  RiceSize SizeAlone(uint32_t start) const;

 private:
  void SumQuotients();

  uint64_t first_ = 0;
  uint64_t end_ = 0;
  size_t count_ = 0;
  QuotientSums inner_sums_{};
  std::array<uint16_t, kMaxStripeElements> gaps_;
};

class RiceRun {
 public:
  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  // Of a run that is not empty.
  uint32_t first_stripe() const { return first_stripe_; }
  // Whether the stripe lies behind all of the run.
  bool MayJoin(uint32_t stripe) const {
    return !empty() && uint64_t{stripe} * kMaxStripeElements >= next_;
  }

  // The best size of the run with these gaps behind it.
  RiceSize SizeWith(const StripeGaps& gaps) const;
  // size: what SizeWith said. The first gaps to be added begin the run at their stripe.
  void Add(const StripeGaps& gaps, const RiceSize& size);

  // The best size of the run as it is.
  const RiceSize& size() const { return size_; }
  // Appends size().bytes() bytes to *out and empties the run.
  void Finish(Bytes* out);
  void Clear();

 private:
  uint64_t FirstGap(const StripeGaps& gaps) const;

  std::vector<uint32_t> gaps_;  // grows only; count_ of them count
  size_t count_ = 0;
  uint32_t first_stripe_ = 0;
  uint64_t next_ = 0;  // the element behind the last selected; of no meaning while empty
  QuotientSums sums_{};
  RiceSize size_;
};

}  // namespace weir::wire
