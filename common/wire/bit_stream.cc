#include "common/wire/bit_stream.h"

#include <limits>

namespace weir::wire {

uint64_t BitReader::ReadLongRice(uint32_t parameter) {
  uint64_t quotient = 0;
  Refill();
  auto zeros = static_cast<uint32_t>(std::countr_zero(word_));
  while (zeros >= available_) {
    if (available_ == 0) return Fail();
    quotient += available_;
    word_ = available_ < 64 ? word_ >> available_ : 0;
    available_ = 0;
    Refill();
    zeros = static_cast<uint32_t>(std::countr_zero(word_));
  }
  quotient += zeros;
  word_ = word_ >> zeros >> 1;
  available_ -= zeros + 1;
  if (quotient > std::numeric_limits<uint64_t>::max() >> parameter) return Fail();
  const uint64_t low = Read(parameter);
  return ok_ ? quotient << parameter | low : 0;
}

}  // namespace weir::wire
