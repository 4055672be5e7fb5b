#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/emulator/machine.h"

// What an event was recorded for the last time. Queues keep it, whatever becomes of the event.
struct WeirRecord {
  bool is_reached = false;
};

struct WeirEvent {
  std::shared_ptr<WeirRecord> record;  // null: it was never recorded
};

struct WeirStream {
  struct Item {
    std::function<void()> work;          // or
    std::shared_ptr<WeirRecord> awaits;  // what must be reached before the next item
  };
  std::deque<Item> items;

  bool can_go_on() const {
    return !items.empty() && (items.front().work != nullptr || items.front().awaits->is_reached);
  }
};

namespace weir::gpu::emulator {
namespace {

// Of the streams, the events and the one machine. What a stream runs may call the runtime again.
std::recursive_mutex runtime_mutex;
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

WeirStream* StreamOf(cudaStream_t stream) {
  return stream == nullptr ? &TheStreams().default_stream : stream;
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
  const Locked locked(runtime_mutex);
  while (!is_done() && RunOne()) {
  }
  return LastError();
}

}  // namespace

void Enqueue(void* stream, std::function<void()> work) {
  const Locked locked(runtime_mutex);
  StreamOf(static_cast<cudaStream_t>(stream))->items.push_back({std::move(work), nullptr});
}

}  // namespace weir::gpu::emulator

using weir::gpu::emulator::Enqueue;
using weir::gpu::emulator::LastError;
using weir::gpu::emulator::Locked;
using weir::gpu::emulator::RunOne;
using weir::gpu::emulator::runtime_mutex;
using weir::gpu::emulator::RunUntil;
using weir::gpu::emulator::StreamOf;
using weir::gpu::emulator::TheStreams;

cudaError_t cudaDeviceSynchronize() {
  return RunUntil([] { return false; });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind,
                            cudaStream_t stream) {
  Enqueue(stream, [=] {
    if (LastError() == cudaSuccess) std::memcpy(to, from, size);
  });
  return LastError();
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
  Enqueue(stream, [=] {
    if (LastError() == cudaSuccess) std::memset(to, value, size);
  });
  return LastError();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  const Locked locked(runtime_mutex);
  TheStreams().all.push_back(*stream = new WeirStream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return RunUntil([stream] { return StreamOf(stream)->items.empty(); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Locked locked(runtime_mutex);
  const cudaError_t error = cudaStreamSynchronize(stream);
  std::erase(TheStreams().all, stream);
  delete stream;
  return error;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  const Locked locked(runtime_mutex);
  if (event->record) StreamOf(stream)->items.push_back({nullptr, event->record});
  return LastError();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  *event = new WeirEvent;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Locked locked(runtime_mutex);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Locked locked(runtime_mutex);
  event->record = std::make_shared<WeirRecord>();
  Enqueue(stream, [record = event->record] { record->is_reached = true; });
  return LastError();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::shared_ptr<WeirRecord> record = [event] {
    const Locked locked(runtime_mutex);
    return event->record;
  }();
  return RunUntil([&] { return record == nullptr || record->is_reached; });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Locked locked(runtime_mutex);
  if (LastError() != cudaSuccess) return LastError();
  RunOne();
  return event->record && !event->record->is_reached ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const Locked locked(runtime_mutex);
  const cudaError_t of_thread = weir::gpu::emulator::TakeThreadError();
  return LastError() != cudaSuccess ? LastError() : of_thread;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    default:
      return "an error";
  }
}
