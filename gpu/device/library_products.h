// Matrix products by cuBLASLt, where it is there and takes the shape. How it multiplies each shape
// is found once and kept.
//
// Place in the life of a batch: the products of linear layers, forward and backward, on a card.
// Thread rule: one thread at a time: that of the stream whose own it is.
#pragma once

#include <cstdint>
#include <map>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "gpu/device/product_plan.h"
#include "gpu/kernels/factor.h"

namespace weir::gpu {

class CudaDevice;
class CudaStream;

// to = left right, or to += left right, as tiles have them: to(row, column) is the sum over k of
// left(row, k) right(column, k).
struct Product {
  Factor left, right;
  RawMatrix<float> to;
  bool adds = false;
  // Not null: also the sums of left's rows over k, or added to them; of what was not rounded.
  float* left_sums = nullptr;
};

class LibraryProducts {
 public:
  // device: outlives it.
  explicit LibraryProducts(CudaDevice& device) : device_(device) {}
  LibraryProducts(const LibraryProducts&) = delete;
  LibraryProducts& operator=(const LibraryProducts&) = delete;
  ~LibraryProducts();

  // Enqueues the product in the stream, whose own this is, and the sums; its scratch memory has the
  // factors that are rounded. False: it is for tiles to do, or the stream has failed. What fails is
  // kept in the stream, and said of name.
  bool Multiply(CudaStream& stream, const char* name, Factors factors, const Product& product);

 private:
  // Finds the library, once. False: there is none, or the stream has failed.
  bool Begin(CudaStream& stream, const char* name);
  // Null: the library does not take it, or the stream has failed.
  const ProductPlan* PlanFor(CudaStream& stream, const char* name, const PlanKey& key);
  bool Keep(CudaStream& stream, const char* name, cublasStatus_t status) const;

  CudaDevice& device_;
  bool has_begun_ = false;
  const CublasLtFunctions* functions_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  device::Buffer<uint8_t> workspace_;
  std::map<PlanKey, ProductPlan> plans_;
};

}  // namespace weir::gpu
