#include "gpu/device/library_products.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/out_of_memory.h"
#include "common/base/strings.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_stream.h"
#include "gpu/device/product_key.h"
#include "gpu/kernels/activations.h"
#include "gpu/kernels/row_sums.h"

namespace weir::gpu {
namespace {

constexpr size_t kMostWorkspaceBytes = size_t{32} << 20;  // what NVIDIA advises for an H100
constexpr size_t kWorkspaceShare = 8;                     // of what is free, no more than the 8th
constexpr size_t kMostPlans = 512;

// Rounds both into the stream's scratch memory. to_sum: left is not turned, and is summed on the
// way. False: the stream has failed.
bool Round(CudaStream& stream, const char* name, const Product& product, bool to_sum,
           Rounded* rounded) {
  auto* const scratch = static_cast<uint8_t*>(stream.Scratch(rounded->byte_count()));
  if (scratch == nullptr) return false;
  rounded->a.data = reinterpret_cast<uint16_t*>(scratch);
  rounded->b.data = reinterpret_cast<uint16_t*>(scratch + rounded->b_offset());
  const auto [a, b] = OperandsOf(product);
  for (const auto& [from, to] : {std::pair(&b, rounded->b), std::pair(&a, rounded->a)}) {
    const bool is_summed = to_sum && from == &product.left;
    stream.Keep(is_summed ? BiasBackwardAndRound(from->matrix, product.adds, product.left_sums, to,
                                                 stream.handle())
                          : CopyAsBf16(from->matrix, to, stream.handle()),
                name);
    if (stream.has_failed()) return false;
  }
  return true;
}

// The sums that a product has beside it. False: the stream has failed.
bool SumLeft(CudaStream& stream, const char* name, const Product& product) {
  stream.Keep(BiasBackward(product.left, product.adds, product.left_sums, stream.handle()), name);
  return !stream.has_failed();
}

std::string Refused(const PlanKey& key) {
  const auto factor = [](const PlanMatrix& of) {
    return StrCat(of.rows, " x ", of.columns, of.is_turned ? " turned" : "", " of stride ",
                  of.stride, ", aligned to ", of.alignment);
  };
  return StrCat("cuBLASLt takes no product of ", factor(key.a), " and ", factor(key.b), " to ",
                factor(key.d));
}

// What the library takes, and does not: a few are enough to see what is slow, and why.
void Tell(const char* name, const PlanKey& key, bool is_taken) {
  const auto epilogue = static_cast<int>(key.epilogue.kind);
  const bool has_epilogue = key.epilogue.kind != CUBLASLT_EPILOGUE_DEFAULT;
  if (is_taken && has_epilogue) {
    LOG_FIRST_N(INFO, 8) << name << " ends by cuBLASLt's epilogue " << epilogue;
  } else if (!is_taken && !has_epilogue) {
    LOG_FIRST_N(WARNING, 8) << name << " is our own, and slow: " << Refused(key);
  } else if (!is_taken) {
    LOG_FIRST_N(WARNING, 8) << name << " goes over its result again: " << Refused(key)
                            << " with the epilogue " << epilogue;
  }
}

device::Buffer<uint8_t> MakeWorkspace(CudaDevice& device) {
  const size_t used = device.used_bytes();
  const size_t free = device.budget_bytes() - std::min(device.budget_bytes(), used);
  try {
    return {device, std::min(kMostWorkspaceBytes, free / kWorkspaceShare), "products"};
  } catch (const OutOfMemory&) {
    return {};  // it multiplies without one, too
  }
}

}  // namespace

LibraryProducts::~LibraryProducts() {
  plans_.clear();
  if (handle_ != nullptr) functions_->Destroy(handle_);
}

bool LibraryProducts::Keep(CudaStream& stream, const char* name, cublasStatus_t status) const {
  if (status == CUBLAS_STATUS_SUCCESS) return true;
  stream.Keep(
      Internal(StrCat("CUDA: ", name, ": cuBLASLt: ", functions_->GetStatusString(status))));
  return false;
}

bool LibraryProducts::Begin(CudaStream& stream, const char* name) {
  if (has_begun_) return handle_ != nullptr;
  has_begun_ = true;
  functions_ = FindCublasLt();
  if (functions_ == nullptr || !Keep(stream, name, functions_->Create(&handle_))) return false;
  workspace_ = MakeWorkspace(device_);
  return true;
}

ProductPlan* LibraryProducts::PlanFor(CudaStream& stream, const char* name, const PlanKey& key,
                                      const PlanAddresses& at) {
  if (plans_.size() >= kMostPlans && !plans_.contains(key)) plans_.clear();
  const auto [plan, is_new] = plans_.try_emplace(key, *functions_);
  if (is_new && !Keep(stream, name, plan->second.Make(handle_, key, at, workspace_.size()))) {
    return nullptr;
  }
  if (is_new) Tell(name, key, plan->second.is_usable());
  return plan->second.is_usable() ? &plan->second : nullptr;
}

Done LibraryProducts::Multiply(CudaStream& stream, const char* name, Factors factors,
                               const Product& product) {
  if (stream.has_failed() || product.left.depth() == 0 || !Begin(stream, name)) {
    return Done::kNothing;
  }
  const PlanEpilogue epilogue = EpilogueOf(product);
  if (epilogue.kind != CUBLASLT_EPILOGUE_DEFAULT &&
      TryMultiply(stream, name, factors, product, epilogue)) {
    return Done::kAll;
  }
  if (!TryMultiply(stream, name, factors, product, {})) return Done::kNothing;
  return product.ending.kind == Ending::Kind::kNone ? Done::kAll : Done::kButItsEnding;
}

bool LibraryProducts::TryMultiply(CudaStream& stream, const char* name, Factors factors,
                                  const Product& product, const PlanEpilogue& epilogue) {
  if (stream.has_failed()) return false;
  const PlanKey key = KeyOf(factors, product, epilogue);
  const auto [a, b] = OperandsOf(product);
  PlanAddresses at{a.matrix.data, b.matrix.data, product.to.data, VectorOf(product),
                   product.ending.signs};
  ProductPlan* const plan = PlanFor(stream, name, key, at);
  if (plan == nullptr) return false;
  const bool has_sums = epilogue.kind == CUBLASLT_EPILOGUE_BGRADB;
  if (!Prepare(stream, name, factors, product, has_sums, &at)) return false;
  const cublasStatus_t status = plan->Enqueue(
      handle_, at, product.adds, workspace_.size() == 0 ? nullptr : workspace_.data().address(),
      stream.handle());
  if (!plan->Refuses(status)) return Keep(stream, name, status);
  Tell(name, key, false);
  return false;
}

bool LibraryProducts::Prepare(CudaStream& stream, const char* name, Factors factors,
                              const Product& product, bool has_sums, PlanAddresses* at) const {
  const bool to_sum = product.left_sums != nullptr && !has_sums;
  const bool is_rounded = factors == Factors::kBf16;
  const bool sums_rounded = is_rounded && !product.left.is_turned;  // on the way
  if (to_sum && !sums_rounded && !SumLeft(stream, name, product)) return false;
  if (!is_rounded) return true;
  Rounded rounded(OperandsOf(product));
  if (!Round(stream, name, product, to_sum && sums_rounded, &rounded)) return false;
  at->a = rounded.a.data, at->b = rounded.b.data;
  return true;
}

}  // namespace weir::gpu
