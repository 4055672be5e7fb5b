// Graphs: a stream that is captured keeps what is enqueued instead of running it, and refuses what
// a card refuses then.
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/emulator/machine.h"
#include "gpu/emulator/stream_items.h"

struct WeirGraph {
  std::vector<std::function<void()>> work;
};

namespace weir::gpu::emulator {
namespace {

thread_local WeirStream* captured_by_thread = nullptr;

}  // namespace

bool BreaksCaptureOfThread() {
  const std::lock_guard locked(RuntimeMutex());
  if (captured_by_thread == nullptr) return false;
  captured_by_thread->is_capture_broken = true;
  return true;
}

}  // namespace weir::gpu::emulator

using weir::gpu::emulator::captured_by_thread;

using weir::gpu::emulator::LastError;
using weir::gpu::emulator::Put;
using weir::gpu::emulator::RuntimeMutex;
using weir::gpu::emulator::StreamOf;
using weir::gpu::emulator::TheEnqueued;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const std::lock_guard locked(RuntimeMutex());
  WeirStream* const captured = StreamOf(stream);
  if (captured->capture) return cudaErrorStreamCaptureUnsupported;
  captured->capture.emplace();
  captured->is_capture_broken = false;
  captured_by_thread = captured;
  return LastError();
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard locked(RuntimeMutex());
  WeirStream* const captured = StreamOf(stream);
  *graph = nullptr;
  if (!captured->capture) return cudaErrorStreamCaptureUnsupported;
  auto work = std::exchange(captured->capture, std::nullopt);
  captured_by_thread = nullptr;
  if (captured->is_capture_broken) return cudaErrorStreamCaptureInvalidated;
  *graph = new WeirGraph{std::move(*work)};
  return LastError();
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long /*flags*/) {
  *exec = new WeirGraph(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const std::lock_guard locked(RuntimeMutex());
  ++TheEnqueued().graphs;
  for (const auto& work : exec->work) Put(StreamOf(stream), work);
  return LastError();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
