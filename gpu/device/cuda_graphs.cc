#include "gpu/device/cuda_graphs.h"

namespace weir::gpu {
namespace {

// A thread has one for full batches and one for the last, and a few for what follows them; what has
// more does not repeat itself.
constexpr size_t kMostGraphs = 64;

// Null where it cannot be.
cudaGraphExec_t Capture(cudaStream_t stream, FunctionRef<void()> enqueue) {
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
    return nullptr;
  }
  enqueue();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  const bool is_captured = cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph != nullptr;
  if (is_captured && cudaGraphInstantiateWithFlags(&executable, graph, 0) != cudaSuccess) {
    executable = nullptr;
  }
  if (graph != nullptr) cudaGraphDestroy(graph);
  return executable;
}

}  // namespace

cudaError_t CudaGraphs::Run(uint64_t key, cudaStream_t stream, FunctionRef<void()> enqueue,
                            FunctionRef<void()> forget) {
  if (kept_.size() >= kMostGraphs && !kept_.contains(key)) {
    if (const cudaError_t error = cudaStreamSynchronize(stream); error != cudaSuccess) return error;
    Clear();
  }
  const auto [found, is_first] = kept_.try_emplace(key);
  Kept& kept = found->second;
  if (!is_first && kept.can_be_captured && kept.graph == nullptr) {
    kept.graph = Capture(stream, enqueue);
    kept.can_be_captured = kept.graph != nullptr;
    if (!kept.can_be_captured) {
      cudaGetLastError();
      forget();
    }
  }
  if (kept.graph != nullptr) return cudaGraphLaunch(kept.graph, stream);
  enqueue();
  return cudaSuccess;
}

void CudaGraphs::Clear() {
  for (const auto& [key, kept] : kept_) {
    if (kept.graph != nullptr) cudaGraphExecDestroy(kept.graph);
  }
  kept_.clear();
}

}  // namespace weir::gpu
