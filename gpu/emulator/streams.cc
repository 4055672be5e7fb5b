#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/emulator/machine.h"
#include "gpu/emulator/stream_items.h"

struct WeirEvent {
  int device = 0;                      // whose it is
  std::shared_ptr<WeirRecord> record;  // null: it was never recorded
};

namespace weir::gpu::emulator {
namespace {

using Locked = std::lock_guard<std::recursive_mutex>;

struct Streams {
  WeirStream default_stream;
  std::vector<WeirStream*> all = {&default_stream};
  uint64_t random = 88172645463325252u;
};

Streams& TheStreams() {
  static auto* const streams = new Streams;
  return *streams;
}

// One item of a random stream that can go on; false: there is none.
bool RunOne() {
  Streams& streams = TheStreams();
  std::vector<WeirStream*> ready;
  for (WeirStream* stream : streams.all) {
    if (stream->can_go_on()) ready.push_back(stream);
  }
  if (ready.empty()) return false;
  streams.random = (streams.random + options().seed) * 6364136223846793005u + 1442695040888963407u;
  WeirStream* const chosen = ready[(streams.random >> 33) % ready.size()];
  const WeirStream::Item item = std::move(chosen->items.front());
  chosen->items.pop_front();
  if (item.work) item.work();
  return true;
}

// Runs what there is, in any order, until is_done.
template <typename IsDone>
cudaError_t RunUntil(const IsDone& is_done) {
  const Locked locked(RuntimeMutex());
  while (!is_done() && RunOne()) {
  }
  return LastError();
}

}  // namespace

// Of the streams, the events and the one machine. What a stream runs may call the runtime again.
std::recursive_mutex& RuntimeMutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

WeirStream* StreamOf(cudaStream_t stream) {
  return stream == nullptr ? &TheStreams().default_stream : stream;
}

void Enqueue(void* stream, std::function<void()> work) {
  const Locked locked(RuntimeMutex());
  WeirStream* const to = StreamOf(static_cast<cudaStream_t>(stream));
  if (!to->capture) ++TheEnqueued().alone;
  Put(to, std::move(work));
}

void Put(WeirStream* to, std::function<void()> work) {
  if (to->capture) return to->capture->push_back(std::move(work));
  to->items.push_back({std::move(work), nullptr});
}

Enqueued& TheEnqueued() {
  static Enqueued all;
  return all;
}

Enqueued EnqueuedSoFar() {
  const Locked locked(RuntimeMutex());
  return TheEnqueued();
}

// Whether a stream is captured, and so cannot be waited for, nor wait.
bool BreaksCapture(cudaStream_t stream) {
  WeirStream* const of = StreamOf(stream);
  if (of->capture) of->is_capture_broken = true;
  return of->capture.has_value();
}

}  // namespace weir::gpu::emulator

using weir::gpu::emulator::BreaksCapture;
using weir::gpu::emulator::BreaksCaptureOfThread;
using weir::gpu::emulator::CurrentDevice;
using weir::gpu::emulator::Enqueue;
using weir::gpu::emulator::IsOfCurrentDevice;
using weir::gpu::emulator::IsPinned;
using weir::gpu::emulator::LastError;
using weir::gpu::emulator::Locked;
using weir::gpu::emulator::RuntimeMutex;
using weir::gpu::emulator::RunUntil;
using weir::gpu::emulator::StreamOf;
using weir::gpu::emulator::TheStreams;

cudaError_t cudaDeviceSynchronize() {
  if (BreaksCaptureOfThread()) return cudaErrorStreamCaptureUnsupported;
  return RunUntil([] { return false; });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const void* const host = kind == cudaMemcpyHostToDevice ? from : to;
  const bool crosses = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToHost;
  if (crosses && !IsPinned(host, size) && BreaksCapture(stream)) {
    return cudaErrorStreamCaptureUnsupported;
  }
  Enqueue(stream, [=] {
    if (LastError() == cudaSuccess) std::memcpy(to, from, size);
  });
  return LastError();
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
  if (!IsOfCurrentDevice(stream)) return cudaErrorInvalidResourceHandle;
  Enqueue(stream, [=] {
    if (LastError() == cudaSuccess) std::memset(to, value, size);
  });
  return LastError();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  const Locked locked(RuntimeMutex());
  TheStreams().all.push_back(*stream = new WeirStream{.device = CurrentDevice()});
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (BreaksCapture(stream)) return cudaErrorStreamCaptureUnsupported;
  return RunUntil([stream] { return StreamOf(stream)->items.empty(); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Locked locked(RuntimeMutex());
  const cudaError_t error = cudaStreamSynchronize(stream);
  std::erase(TheStreams().all, stream);
  delete stream;
  return error;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  const Locked locked(RuntimeMutex());
  if (BreaksCapture(stream)) return cudaErrorStreamCaptureUnsupported;
  if (event->record) StreamOf(stream)->items.push_back({nullptr, event->record});
  return LastError();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  *event = new WeirEvent{.device = CurrentDevice(), .record = nullptr};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Locked locked(RuntimeMutex());
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Locked locked(RuntimeMutex());
  if (BreaksCapture(stream)) return cudaErrorStreamCaptureUnsupported;
  if (event->device != StreamOf(stream)->device) return cudaErrorInvalidResourceHandle;
  event->record = std::make_shared<WeirRecord>();
  Enqueue(stream, [record = event->record] { record->is_reached = true; });
  return LastError();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::shared_ptr<WeirRecord> record = [event] {
    const Locked locked(RuntimeMutex());
    return event->record;
  }();
  return RunUntil([&] { return record == nullptr || record->is_reached; });
}
