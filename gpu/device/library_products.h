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
#include "gpu/device/product.h"
#include "gpu/device/product_plan.h"

namespace weir::gpu {

class CudaDevice;
class CudaStream;

// What is done of a product: its sums of left are, unless nothing is.
enum class Done { kNothing, kButItsEnding, kAll };

class LibraryProducts {
 public:
  // device: outlives it.
  explicit LibraryProducts(CudaDevice& device) : device_(device) {}
  LibraryProducts(const LibraryProducts&) = delete;
  LibraryProducts& operator=(const LibraryProducts&) = delete;
  ~LibraryProducts();

  // Enqueues the product in the stream, whose own this is, and the sums; its scratch memory has the
  // factors that are rounded. What is not done is for kernels of ours to do, or the stream has
  // failed. What fails is kept in the stream, and said of name.
  Done Multiply(CudaStream& stream, const char* name, Factors factors, const Product& product);

 private:
  // Finds the library, once. False: there is none, or the stream has failed.
  bool Begin(CudaStream& stream, const char* name);
  // Null: the library does not take it, or the stream has failed.
  ProductPlan* PlanFor(CudaStream& stream, const char* name, const PlanKey& key,
                       const PlanAddresses& at);
  // With such an epilogue. False: the library does not take it, or the stream has failed.
  bool TryMultiply(CudaStream& stream, const char* name, Factors factors, const Product& product,
                   const PlanEpilogue& epilogue);
  // What comes before a product: factors are rounded, and left is summed where the product does not
  // (has_sums). False: the stream has failed.
  bool Prepare(CudaStream& stream, const char* name, Factors factors, const Product& product,
               bool has_sums, PlanAddresses* at) const;
  bool Keep(CudaStream& stream, const char* name, cublasStatus_t status) const;

  CudaDevice& device_;
  bool has_begun_ = false;
  const CublasLtFunctions* functions_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  device::Buffer<uint8_t> workspace_;
  std::map<PlanKey, ProductPlan> plans_;
};

}  // namespace weir::gpu
