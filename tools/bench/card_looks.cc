#include "tools/bench/card_looks.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/layout/model_layout.h"
#include "tools/bench/card_selection.h"

namespace weir::bench {
namespace {

constexpr uint32_t kBucketLog2 = 9;  // of qsgd's default
constexpr size_t kBucket = size_t{1} << kBucketLog2;
constexpr float kSquare = 0.25f;  // of each element, so that some pass

std::vector<float> Draw(size_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * random.NextUnit() - 1);
  return values;
}

// Ascending, somewhere in each hundred.
std::vector<uint32_t> DrawAgreed(size_t count) {
  constexpr uint32_t kOneOf = 100;
  RandomStream random(3);
  std::vector<uint32_t> places;
  for (size_t first = 0; first + kOneOf <= count; first += kOneOf) {
    places.push_back(static_cast<uint32_t>(first + random.NextBelow(kOneOf)));
  }
  return places;
}

}  // namespace

CardLooks::CardLooks(const Card& card, int64_t element_count)
    : card_(card),
      count_(static_cast<size_t>(element_count)),
      stream_(card.device->MakeStream()),
      gradient_(Put(Draw(count_, 1))),
      residual_(Put(Draw(count_, 2))),
      squares_(Put(std::vector<float>(count_, kSquare))),
      places_(Put(StripesOfOneLayer(count_))),
      largest_(Put<kernels::LayerLargest>({{.is_asked = 1, .alpha = 2}})),
      buckets_(Put<kernels::LayerBuckets>({{.bucket_log2 = kBucketLog2, .has_residual = 1}})),
      sums_(Put(std::vector<kernels::BucketSums>((count_ + kBucket - 1) / kBucket))),
      agreed_(Put(DrawAgreed(count_))),
      taken_(Put(std::vector<float>(agreed_.size()))) {}

template <typename T>
device::Mirror<T> CardLooks::Put(const std::vector<T>& values) const {
  device::Mirror<T> mirror(*card_.device, values.size(), "a look at a layer");
  std::ranges::copy(values, mirror.host().begin());
  mirror.Upload(*stream_, values.size());
  return mirror;
}

void CardLooks::FindLargest() const {
  card_.compute.select->find_largest(
      *stream_, {places_.device().data, static_cast<int64_t>(places_.size())},
      largest_.device().data,
      {gradient_.device().data, residual_.device().data, squares_.device().data, {}});
}

void CardLooks::SumBuckets() const {
  card_.compute.select->sum_buckets(
      *stream_, {places_.device().data, static_cast<int64_t>(places_.size())},
      buckets_.device().data,
      {gradient_.device().data, residual_.device().data, squares_.device().data, {}},
      sums_.device().data);
}

void CardLooks::TakeAgreed() const {
  card_.compute.select->take_values(*stream_, agreed_.device().data,
                                    static_cast<int64_t>(agreed_.size()), false,
                                    residual_.device().data, taken_.device().data);
}

Status CardLooks::CheckLargest() const {
  FindLargest();
  largest_.Download(*stream_, 1);
  WEIR_RETURN_IF_ERROR(stream_->Synchronize());
  float finite = 0, passing = 0;
  for (size_t i = 0; i < count_; ++i) {
    const float sum = residual_.host()[i] + gradient_.host()[i];
    finite = std::max(finite, std::abs(sum));
    if (sum * sum > 2 * kSquare) passing = std::max(passing, std::abs(sum));
  }
  const kernels::LayerLargest& found = largest_.host()[0];
  if (found.finite_bits == std::bit_cast<uint32_t>(finite) &&
      found.passing_bits == std::bit_cast<uint32_t>(passing)) {
    return OkStatus();
  }
  return Internal(StrCat("the largest magnitude is ", finite, ", and on the card ",
                         std::bit_cast<float>(found.finite_bits)));
}

double CardLooks::SumOfBucket(size_t bucket) const {
  double sum = 0;
  for (size_t i = bucket * kBucket; i < std::min((bucket + 1) * kBucket, count_); ++i) {
    sum += static_cast<double>(residual_.host()[i] + gradient_.host()[i]);
  }
  return sum;
}

Status CardLooks::CheckBuckets() const {
  SumBuckets();
  sums_.Download(*stream_, sums_.size());
  WEIR_RETURN_IF_ERROR(stream_->Synchronize());
  for (size_t i = 0; i < sums_.size(); ++i) {
    const double expected = SumOfBucket(i), found = sums_.host()[i].sum;
    if (std::abs(found - expected) <= 1e-9 * kBucket) continue;
    return Internal(StrCat("the sum of bucket ", i, " is ", expected, ", and on the card ", found));
  }
  return OkStatus();
}

Status CardLooks::CheckAgreed() const {
  TakeAgreed();
  taken_.Download(*stream_, taken_.size());
  std::vector<float> left(count_);
  stream_->CopyToHost<float>(residual_.device(), left);
  WEIR_RETURN_IF_ERROR(stream_->Synchronize());
  for (size_t i = 0; i < agreed_.size(); ++i) {
    const uint32_t place = agreed_.host()[i];
    if (taken_.host()[i] == residual_.host()[place] && left[place] == 0) continue;
    return Internal(StrCat("what was agreed on of element ", place, " is ", residual_.host()[place],
                           ", and of the card ", taken_.host()[i]));
  }
  return OkStatus();
}

}  // namespace weir::bench
