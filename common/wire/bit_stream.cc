#include "common/wire/bit_stream.h"

#include <limits>

namespace weir::wire {

BitWriter BitWriter::WriteLongRice(BitWriter writer, uint64_t value, uint32_t parameter) {
  uint64_t quotient = value >> parameter;
  for (; quotient >= kShortBits; quotient -= kShortBits) writer.WriteShort(0, kShortBits);
  writer.WriteShort(uint64_t{1} << quotient, static_cast<uint32_t>(quotient) + 1);
  writer.Write(value & ((uint64_t{1} << parameter) - 1), parameter);
  return writer;
}

BitReader::LongCode BitReader::ReadLongRice(BitReader reader, uint32_t parameter) {
  const uint64_t value = reader.TakeLongRice(parameter);
  return {reader, value};
}

uint64_t BitReader::TakeLongRice(uint32_t parameter) {
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
