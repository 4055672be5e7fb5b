// The writer's side of a block of Rice codes: a run of stripes, one behind another.
//
// Place in the life of a batch: select -> **piece frame writer** -> push, and the answer's.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/wire/rice.h"

namespace weir::wire {

class RiceRun {
 public:
  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  // Of a run that is not empty.
  uint32_t first_stripe() const { return first_stripe_; }

  // indexes: strictly increasing, below kMaxStripeElements, not empty. The stripe lies behind all
  // of the run; the first one begins the run.
  void Add(uint32_t stripe, std::span<const uint16_t> indexes);
  // Whether the stripe lies behind all of the run, and so near that the code of the way there
  // should take fewer bits than another block's head.
  bool MayJoin(uint32_t stripe, std::span<const uint16_t> indexes, size_t head_bits) const;

  // The parameter of the first group and the bits of the codes.
  RiceSize ChooseParameters();
  // Appends the codes to *out and empties the run. size: what ChooseParameters has just said.
  void Finish(const RiceSize& size, Bytes* out);
  void Clear() { count_ = 0; }

 private:
  std::vector<uint32_t> gaps_;  // grows only; count_ of them count
  size_t count_ = 0;
  uint32_t first_stripe_ = 0;
  uint64_t next_ = 0;  // the element behind the last selected; of no meaning while empty
  std::vector<uint8_t> parameters_;
};

}  // namespace weir::wire
