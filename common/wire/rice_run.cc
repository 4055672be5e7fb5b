#include "common/wire/rice_run.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/wire/bit_stream.h"

namespace weir::wire {
namespace {

// Gaps that are summed at once; those behind the last are zero.
constexpr size_t kLanes = 8;
// Within a stripe, quotients are zero for this parameter and larger ones.
constexpr size_t kStripeParameters = 12;
static_assert(kMaxStripeElements == 1 << kStripeParameters);

// The best size of count gaps: one of `first`, and others whose quotients are in two sums.
RiceSize BestSize(const QuotientSums& sums, const QuotientSums& more, uint64_t first,
                  uint64_t count, uint32_t start) {
  return BestRiceFrom(start, kMaxIndexRiceParameter, [&](uint32_t k) {
    return uint64_t{sums[k]} + more[k] + (first >> k) + count * (k + 1);
  });
}

constexpr uint64_t StripeBegin(uint32_t stripe) { return uint64_t{stripe} * kMaxStripeElements; }

}  // namespace

void StripeGaps::Assign(uint32_t stripe, std::span<const uint16_t> indexes) {
  DCHECK(!indexes.empty() && indexes.back() < kMaxStripeElements);
  first_ = StripeBegin(stripe) + indexes.front();
  end_ = StripeBegin(stripe) + indexes.back() + 1;
  count_ = indexes.size();
  uint16_t* gaps = gaps_.data();
  for (size_t i = 1; i < indexes.size(); ++i) {
    gaps[i - 1] = static_cast<uint16_t>(indexes[i] - indexes[i - 1] - 1);
  }
  SumQuotients();
}

// The gaps lie in one stripe, so 16 bits hold every sum, and shifts by constants keep all sums in
// vector registers.
void StripeGaps::SumQuotients() {
  const size_t inner_count = count_ - 1, block_count = (inner_count + kLanes - 1) / kLanes;
  std::fill(gaps_.begin() + inner_count, gaps_.begin() + block_count * kLanes, uint16_t{0});
  std::array<uint16_t, kStripeParameters> sums{};
  for (size_t i = 0; i < block_count * kLanes; ++i) {
    for (size_t k = 0; k < kStripeParameters; ++k) {
      sums[k] = static_cast<uint16_t>(sums[k] + (gaps_[i] >> k));
    }
  }
  std::ranges::copy(sums, inner_sums_.begin());
}

RiceSize StripeGaps::SizeAlone(uint32_t start) const {
  return BestSize(inner_sums_, {}, first_ % kMaxStripeElements, count_, start);
}

uint64_t RiceRun::FirstGap(const StripeGaps& gaps) const {
  return empty() ? gaps.first() % kMaxStripeElements : gaps.first() - next_;
}

RiceSize RiceRun::SizeWith(const StripeGaps& gaps) const {
  return BestSize(sums_, gaps.inner_sums(), FirstGap(gaps), count_ + gaps.count(), size_.parameter);
}

void RiceRun::Add(const StripeGaps& gaps, const RiceSize& size) {
  const uint64_t first_gap = FirstGap(gaps);
  if (empty()) first_stripe_ = gaps.stripe();
  if (gaps_.size() < count_ + gaps.count()) {
    gaps_.resize(std::max(2 * gaps_.size(), count_ + gaps.count()));
  }
  uint32_t* out = gaps_.data() + count_;
  *out++ = static_cast<uint32_t>(first_gap);
  for (const uint16_t gap : gaps.inner()) *out++ = gap;
  for (uint32_t k = 0; k < sums_.size(); ++k) {
    sums_[k] += gaps.inner_sums()[k] + static_cast<uint32_t>(first_gap >> k);
  }
  count_ += gaps.count();
  next_ = gaps.end();
  size_ = size;
}

void RiceRun::Finish(Bytes* out) {
  const size_t start = out->size(), byte_count = size_.bytes();
  out->resize(start + byte_count + BitWriter::kSlackBytes);
  BitWriter writer(std::span<uint8_t>(*out).subspan(start));
  const uint32_t parameter = size_.parameter;
  for (const uint32_t gap : std::span<const uint32_t>(gaps_).first(count_)) {
    writer.WriteRice(gap, parameter);
  }
  CHECK_EQ(writer.Finish(), byte_count);
  out->resize(start + byte_count);
  Clear();
}

void RiceRun::Clear() {
  count_ = 0;
  sums_.fill(0);
}

}  // namespace weir::wire
