#include "common/compress/candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/compress/kth_largest.h"
#include "common/compress/select_kernels.h"
#include "common/layout/model_layout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/compress/candidates.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compress {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#include "common/base/front_lanes.inc"

using Floats = hn::CappedTag<float, 16>;
using Numbers = hn::RebindToUnsigned<Floats>;

// Writes |value| and the index of each lane that reaches the bound, and what has no meaning behind
// them, up to a vector. How many they are.
HWY_INLINE size_t PutReached(hn::Vec<Floats> value, hn::Vec<Floats> bound, hn::Vec<Numbers> index,
                             float* magnitudes, uint32_t* indexes) {
  const auto magnitude = hn::Abs(value);
  const auto reached = hn::Ge(magnitude, bound);
  hn::StoreU(FrontLanes(magnitude, reached), Floats(), magnitudes);
  hn::StoreU(FrontLanes(index, hn::RebindMask(Numbers(), reached)), Numbers(), indexes);
  return hn::CountTrue(Floats(), reached);
}

size_t Above(const float* HWY_RESTRICT values, size_t size, float least, uint32_t first,
             float* HWY_RESTRICT magnitudes, uint32_t* HWY_RESTRICT indexes) {
  const Floats floats;
  const Numbers numbers;
  const auto bound = hn::Set(floats, least);
  const size_t lanes = hn::Lanes(floats);
  const auto step = hn::Set(numbers, static_cast<uint32_t>(lanes));
  auto index = hn::Iota(numbers, first);
  size_t count = 0, i = 0;
  for (; i + lanes <= size; i += lanes) {
    count += PutReached(hn::LoadU(floats, values + i), bound, index, magnitudes + count,
                        indexes + count);
    index = hn::Add(index, step);
  }
  if (i == size) return count;
  HWY_ALIGN float rest[hn::MaxLanes(Floats())] = {};  // zeros reach no bound
  std::memcpy(rest, values + i, (size - i) * sizeof(float));
  return count +
         PutReached(hn::LoadU(floats, rest), bound, index, magnitudes + count, indexes + count);
}

// In place: what is written lies before what is still to be read.
size_t Reaching(size_t count, float least, float* magnitudes, uint32_t* indexes) {
  const Floats floats;
  const Numbers numbers;
  const auto bound = hn::Set(floats, least);
  const size_t lanes = hn::Lanes(floats);
  size_t kept = 0, i = 0;
  for (; i + lanes <= count; i += lanes) {
    kept += PutReached(hn::LoadU(floats, magnitudes + i), bound, hn::LoadU(numbers, indexes + i),
                       magnitudes + kept, indexes + kept);
  }
  for (; i < count; ++i) {
    if (magnitudes[i] < least) continue;
    magnitudes[kept] = magnitudes[i];
    indexes[kept++] = indexes[i];
  }
  return kept;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::compress
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::compress {
namespace {

HWY_EXPORT(Above);
HWY_EXPORT(Reaching);

// More than a stripe has, and the floats of any vector.
constexpr size_t kRoom = static_cast<size_t>(kStripeElements) + 64;

}  // namespace

size_t CollectReaching(std::span<const float> values, float least, uint32_t first,
                       float* magnitudes, uint32_t* indexes) {
  return HWY_DYNAMIC_DISPATCH(Above)(values.data(), values.size(), least, first, magnitudes,
                                     indexes);
}

void Candidates::Reserve(size_t more) {
  if (indexes_.size() >= count_ + more) return;
  tensor::AlignedArray<uint32_t> indexes(count_ + count_ / 4 + more);
  tensor::AlignedArray<float> magnitudes(indexes.size());
  std::copy_n(indexes_.data(), count_, indexes.data());
  std::copy_n(magnitudes_.data(), count_, magnitudes.data());
  indexes_ = std::move(indexes);
  magnitudes_ = std::move(magnitudes);
}

void Candidates::Collect(const SelectKernels& kernels, std::span<const float> values, float least,
                         uint32_t first) {
  Reserve(kRoom);
  count_ += kernels.collect_reaching(values, least, first, magnitudes_.data() + count_,
                                     indexes_.data() + count_);
}

float Candidates::KthLargest(size_t k) {
  overwritten_.assign(magnitudes().begin(), magnitudes().end());
  return compress::KthLargest(overwritten_, k);
}

void Candidates::Add(std::span<const float> values, std::span<const uint16_t> offsets,
                     uint32_t first) {
  Reserve(kRoom);
  for (const uint16_t offset : offsets) {
    indexes_[count_] = first + offset;
    magnitudes_[count_++] = std::fabs(values[offset]);
  }
}

void Candidates::Keep(float least) {
  count_ = HWY_DYNAMIC_DISPATCH(Reaching)(count_, least, magnitudes_.data(), indexes_.data());
}

std::span<const uint32_t> Candidates::IndexesIn(int64_t begin, int64_t end) const {
  const auto all = indexes();
  const auto from = std::ranges::lower_bound(all, static_cast<uint32_t>(begin));
  const auto to = std::lower_bound(from, all.end(), static_cast<uint32_t>(end));
  return {from, to};
}

}  // namespace weir::compress

#endif  // HWY_ONCE
