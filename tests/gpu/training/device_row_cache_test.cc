// Rows that are kept on a card: what is placed is what was pulled, and young enough.
#include "worker/client/device_row_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"

namespace weir::worker {
namespace {

constexpr uint64_t kMaxAge = 4;
constexpr size_t kDimension = 3;

// A row as it is pulled in a step.
std::vector<float> RowOf(uint64_t id, uint64_t step) {
  return {static_cast<float>(id), static_cast<float>(step), static_cast<float>(id + step)};
}

// A thread of a trainer: its stream, and the batch at hand.
class Puller {
 public:
  Puller(DeviceRowCache* cache, device::Device& device, uint64_t seed)
      : cache_(*cache), stream_(device.MakeStream()), rows_(device, 64, "a test"), random_(seed) {}

  void Ask(uint64_t step) {
    step_ = step;
    ids_.clear();
    held_.clear();
    is_held_.clear();
    for (uint64_t id = 0; id < 20; ++id) {
      if (random_.NextBelow(id / 4 + 1) != 0) continue;  // low ones are hot
      ids_.push_back(id);
      is_held_.push_back(cache_.Hold(0, id, step, &held_));
    }
  }
  void Place() {
    auto arrivals = cache_.Begin(*stream_, ids_.size());
    size_t held = 0;
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (is_held_[i]) {
        arrivals->AddHeld(held_[held++], i);
      } else {
        arrivals->Add(0, ids_[i], step_, i, RowOf(ids_[i], step_), true);
      }
    }
    cache_.Place(std::move(arrivals), rows_.device().data);
    cache_.Release(held_);
    rows_.Download(*stream_, ids_.size() * kDimension);
  }
  void Check() {
    ASSERT_TRUE(stream_->Synchronize().ok());
    for (size_t i = 0; i < ids_.size(); ++i) {
      const auto row = rows_.host().subspan(i * kDimension, kDimension);
      const auto pulled = static_cast<uint64_t>(row[1]);
      ASSERT_EQ(std::vector<float>(row.begin(), row.end()), RowOf(ids_[i], pulled));
      ASSERT_LE(pulled, step_ + 1) << "of another thread's";
      ASSERT_LT(step_, pulled + kMaxAge);
      ASSERT_TRUE(is_held_[i] || pulled == step_);
    }
  }

 private:
  DeviceRowCache& cache_;
  const std::unique_ptr<device::Stream> stream_;
  const device::Mirror<float> rows_;
  RandomStream random_;
  uint64_t step_ = 0;
  std::vector<uint64_t> ids_;
  std::vector<size_t> held_;
  std::vector<bool> is_held_;
};

TEST(DeviceRowCache, PlacesWhatWasPulledInWhicheverOrderStreamsGo) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const auto device = test::OpenCard();
  const auto compute = gpu::CudaCompute(*device, kernels::Precision::kF32, 64);
  for (const size_t capacity : {16u, 48u, 400u}) {
    SCOPED_TRACE(capacity);
    DeviceRowCache cache(compute, capacity, kMaxAge, kDimension);
    Puller one(&cache, *device, 1), other(&cache, *device, 2);
    for (uint64_t step = 0; step < 200; step += 2) {
      test::SetCardOrder(step);
      one.Ask(step);
      other.Ask(step + 1);
      other.Place();
      one.Place();
      one.Check();
      other.Check();
    }
    const RowSlots::Counts counts = cache.counts();
    EXPECT_GT(counts.hits, counts.lookups / 10);
    EXPECT_LT(counts.hits, counts.lookups);
  }
}

}  // namespace
}  // namespace weir::worker
