#include "common/wire/rice_run.h"

#include <algorithm>
#include <bit>

#include "common/base/check.h"
#include "common/wire/bit_stream.h"
#include "common/wire/index_coding.h"
#include "common/wire/rice_groups.h"

namespace weir::wire {
namespace {

constexpr uint64_t StripeBegin(uint32_t stripe) { return uint64_t{stripe} * kMaxStripeElements; }

}  // namespace

void RiceRun::Add(uint32_t stripe, std::span<const uint16_t> indexes) {
  DCHECK(!indexes.empty() && indexes.back() < kMaxStripeElements);
  const uint64_t begin = StripeBegin(stripe);
  if (empty()) {
    first_stripe_ = stripe;
    next_ = begin;
  }
  if (gaps_.size() < count_ + indexes.size()) {
    gaps_.resize(std::max(2 * gaps_.size(), count_ + indexes.size()));
  }
  uint32_t* const gaps = gaps_.data() + count_;
  gaps[0] = static_cast<uint32_t>(begin + indexes[0] - next_);
  for (size_t i = 1; i < indexes.size(); ++i) {
    gaps[i] = static_cast<uint32_t>(indexes[i] - indexes[i - 1] - 1);
  }
  count_ += indexes.size();
  next_ = begin + indexes.back() + 1;
}

// The parameter of the way's code is thought to be the one for the stripe's density.
bool RiceRun::MayJoin(uint32_t stripe, std::span<const uint16_t> indexes, size_t head_bits) const {
  if (empty() || StripeBegin(stripe) < next_) return false;
  const auto parameter = std::bit_width(kMaxStripeElements / indexes.size());
  return (StripeBegin(stripe) + indexes.front() - next_) >> parameter < head_bits;
}

RiceSize RiceRun::ChooseParameters() {
  const uint64_t bits = ChooseRiceParameters(std::span(gaps_).first(count_), &parameters_);
  return {.parameter = parameters_[0], .bits = bits};
}

void RiceRun::Finish(const RiceSize& size, Bytes* out) {
  const size_t start = out->size();
  out->resize(start + size.bytes() + BitWriter::kSlackBytes);
  BitWriter writer(std::span<uint8_t>(*out).subspan(start));
  WriteRiceGroups(std::span(gaps_).first(count_), parameters_, &writer);
  CHECK_EQ(writer.Finish(), size.bytes());
  out->resize(start + size.bytes());
  Clear();
}

}  // namespace weir::wire
