// What a stream enqueues again and again, as graphs that start as one (device::Stream::Repeat).
//
// The first time what is enqueued runs as it comes, so that whatever grows has grown; the second
// time it is captured, and from then on the graph is launched. What cannot be captured runs as it
// comes for good.
//
// Place in the life of a batch: forward, loss and backward, clipping, selection.
// Thread rule: the stream's.
#pragma once

#include <cstdint>
#include <map>

#include "common/base/function_ref.h"
#include "gpu/cuda.h"

namespace weir::gpu {

class CudaGraphs {
 public:
  CudaGraphs() = default;
  CudaGraphs(const CudaGraphs&) = delete;
  CudaGraphs& operator=(const CudaGraphs&) = delete;
  ~CudaGraphs() { Clear(); }

  // forget: called where what enqueue tried to have captured has failed, before it runs as it
  // comes.
  cudaError_t Run(uint64_t key, cudaStream_t stream, FunctionRef<void()> enqueue,
                  FunctionRef<void()> forget);
  // Memory that graphs may use is given back. None of them runs, nor is one captured.
  void Clear();

 private:
  struct Kept {
    bool can_be_captured = true;
    cudaGraphExec_t graph = nullptr;
  };

  std::map<uint64_t, Kept> kept_;  // what ran once
};

}  // namespace weir::gpu
