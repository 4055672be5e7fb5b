// Our matrices are row-major, [rows, columns] of a stride: to the library a column-major matrix of
// columns rows, with that stride. So right comes first: to^T = right left^T, of which each factor
// is turned where, as a column-major one, it lies the other way. Its epilogues for bias, ReLU and
// their gradients want other layouts, or stop NaN (docs/internals/gpu_floors.md).
#include "gpu/device/library_products.h"

#include <algorithm>
#include <bit>
#include <string>

#include "common/base/check.h"
#include "common/base/out_of_memory.h"
#include "common/base/strings.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_stream.h"
#include "gpu/kernels/activations.h"
#include "gpu/kernels/row_sums.h"

namespace weir::gpu {
namespace {

constexpr size_t kMostWorkspaceBytes = size_t{32} << 20;  // what NVIDIA advises for an H100
constexpr size_t kWorkspaceShare = 8;                     // of what is free, no more than the 8th
constexpr size_t kMostPlans = 512;
constexpr int64_t kBf16Vector = 8;  // numbers: rows begin at whole 16 bytes

uint32_t AlignmentOf(const void* address) {
  const auto bits = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address));
  return uint32_t{1} << std::min(std::countr_zero(bits | PlanMatrix::kMostAlignment),
                                 std::countr_zero(uint64_t{PlanMatrix::kMostAlignment}));
}

template <typename Float>
PlanMatrix Described(const RawMatrix<Float>& matrix, bool is_turned) {
  return {matrix.column_count, matrix.row_count, matrix.stride, AlignmentOf(matrix.data),
          is_turned};
}

PlanKey KeyOf(Factors factors, const Product& product) {
  return {factors, Described(product.right.matrix, !product.right.is_turned),
          Described(product.left.matrix, product.left.is_turned), Described(product.to, false)};
}

// Where factors lie that were rounded, one after the other.
struct RoundedFactors {
  RawMatrix<uint16_t> left, right;

  size_t right_offset() const {
    const size_t bytes = sizeof(uint16_t) * static_cast<size_t>(left.row_count * left.stride);
    return (bytes + PlanMatrix::kMostAlignment - 1) / PlanMatrix::kMostAlignment *
           PlanMatrix::kMostAlignment;
  }
  size_t byte_count() const {
    return right_offset() + sizeof(uint16_t) * static_cast<size_t>(right.row_count * right.stride);
  }
};

RawMatrix<uint16_t> RoundedShape(const RawMatrix<const float>& of) {
  return {nullptr, of.row_count, of.column_count,
          (of.column_count + kBf16Vector - 1) / kBf16Vector * kBf16Vector};
}

// Of factors in scratch memory, which is aligned for anything.
PlanKey RoundedKeyOf(const Product& product, const RoundedFactors& rounded) {
  return {Factors::kBf16, Described(rounded.right, !product.right.is_turned),
          Described(rounded.left, product.left.is_turned), Described(product.to, false)};
}

// Rounds both into the stream's scratch memory. False: the stream has failed.
bool Round(CudaStream& stream, const char* name, const Product& product, RoundedFactors* rounded) {
  auto* const scratch = static_cast<uint8_t*>(stream.Scratch(rounded->byte_count()));
  if (scratch == nullptr) return false;
  rounded->left.data = reinterpret_cast<uint16_t*>(scratch);
  rounded->right.data = reinterpret_cast<uint16_t*>(scratch + rounded->right_offset());
  const RawMatrix<const float>& left = product.left.matrix;
  stream.Keep(product.left_sums == nullptr
                  ? CopyAsBf16(left, rounded->left, stream.handle())
                  : BiasBackwardAndRound(left, product.adds, product.left_sums, rounded->left,
                                         stream.handle()),
              name);
  if (stream.has_failed()) return false;
  stream.Keep(CopyAsBf16(product.right.matrix, rounded->right, stream.handle()), name);
  return !stream.has_failed();
}

// The sums that a product has beside it. False: the stream has failed.
bool SumLeft(CudaStream& stream, const char* name, const Product& product) {
  if (product.left_sums == nullptr) return true;
  stream.Keep(BiasBackward(product.left.matrix, product.adds, product.left_sums, stream.handle()),
              name);
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

const ProductPlan* LibraryProducts::PlanFor(CudaStream& stream, const char* name,
                                            const PlanKey& key) {
  if (plans_.size() >= kMostPlans && !plans_.contains(key)) plans_.clear();
  const auto [plan, is_new] = plans_.try_emplace(key, *functions_);
  if (is_new && !Keep(stream, name, plan->second.Make(handle_, key, workspace_.size()))) {
    return nullptr;
  }
  if (plan->second.is_usable()) return &plan->second;
  // A few are enough to see what is slow, and why.
  if (is_new) {
    LOG_FIRST_N(WARNING, 8) << name << " is our own, and slow: " << Refused(key);
  }
  return nullptr;
}

bool LibraryProducts::Multiply(CudaStream& stream, const char* name, Factors factors,
                               const Product& product) {
  if (stream.has_failed() || product.left.depth() == 0 || !Begin(stream, name)) return false;
  const bool is_rounded = factors == Factors::kBf16;
  RoundedFactors rounded{RoundedShape(product.left.matrix), RoundedShape(product.right.matrix)};
  const PlanKey key = is_rounded ? RoundedKeyOf(product, rounded) : KeyOf(factors, product);
  const ProductPlan* const plan = PlanFor(stream, name, key);
  if (plan == nullptr) return false;
  if (!(is_rounded ? Round(stream, name, product, &rounded) : SumLeft(stream, name, product))) {
    return false;
  }
  PlanAddresses at{product.right.matrix.data, product.left.matrix.data, product.to.data};
  if (is_rounded) at.a = rounded.right.data, at.b = rounded.left.data;
  return Keep(stream, name,
              plan->Enqueue(handle_, at, product.adds,
                            workspace_.size() == 0 ? nullptr : workspace_.data().address(),
                            stream.handle()));
}

}  // namespace weir::gpu
