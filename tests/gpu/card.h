// The card that tests run on: in a build with CUDA the machine's first, and otherwise an emulated
// one, whose threads run in an order that a seed chooses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "gpu/cuda.h"
#include "gpu/device/cuda_device.h"

namespace weir::test {

#if defined(WEIR_WITH_CUDA)

inline const std::vector<uint64_t>& CardOrders() {
  static const std::vector<uint64_t> one = {0};
  return one;
}
inline void SetCardOrder(uint64_t /*seed*/) {}
inline std::string CardReport() { return ""; }
inline void FailAfterLaunches(uint64_t /*count*/) {}
inline void ResetCard() {}
struct CardEnqueued {
  uint64_t graphs = 0, alone = 0;
};
inline CardEnqueued EnqueuedOnCard() { return {}; }
// What becomes of cuBLASLt there.
enum class CardLibrary { kGood };
inline const std::vector<CardLibrary>& CardLibraries() {
  static const std::vector<CardLibrary> as_it_is = {CardLibrary::kGood};
  return as_it_is;
}
inline void SetCardLibrary(CardLibrary /*library*/) {}
inline constexpr bool kIsEmulated = false;
inline constexpr int kCardNumber = 0;

#else

inline const std::vector<uint64_t>& CardOrders() {
  static const std::vector<uint64_t> ranked_and_not = {2, 5};
  return ranked_and_not;
}
inline void SetCardOrder(uint64_t seed) { gpu::emulator::options().seed = seed; }
inline std::string CardReport() { return gpu::emulator::LastReport(); }
inline void FailAfterLaunches(uint64_t count) { gpu::emulator::faults().good_launches = count; }
inline void ResetCard() { gpu::emulator::ResetDevice(); }
using CardEnqueued = gpu::emulator::Enqueued;
inline CardEnqueued EnqueuedOnCard() { return gpu::emulator::EnqueuedSoFar(); }
using CardLibrary = gpu::emulator::Library;
inline const std::vector<CardLibrary>& CardLibraries() {
  static const std::vector<CardLibrary> there_and_not = {CardLibrary::kGood, CardLibrary::kAbsent,
                                                         CardLibrary::kTakesNothing,
                                                         CardLibrary::kEndsNothing};
  return there_and_not;
}
inline void SetCardLibrary(CardLibrary library) { gpu::emulator::faults().cublas_lt = library; }
inline constexpr bool kIsEmulated = true;
// Of two, so that a thread which has not said which one it means has another.
inline constexpr int kCardNumber = 1;

#endif

// Null where there is none; tests then skip, with CardFailure.
inline std::unique_ptr<gpu::CudaDevice> OpenCard(size_t memory_bytes = 0) {
  auto card = gpu::CudaDevice::Open(kCardNumber, memory_bytes);
  return card.ok() ? *std::move(card) : nullptr;
}
inline std::string CardFailure() { return gpu::CudaDevice::Open(kCardNumber).status().message(); }

}  // namespace weir::test

// At the beginning of a test that needs one.
#define WEIR_SKIP_WITHOUT_A_CARD() \
  if (::weir::test::OpenCard() == nullptr) GTEST_SKIP() << ::weir::test::CardFailure()
