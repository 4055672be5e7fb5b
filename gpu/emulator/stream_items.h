// A stream as a queue of work, for the emulator's own files.
//
// Thread rule: whoever has the runtime's lock.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gpu/emulator/runtime.h"

// What an event was recorded for the last time. Queues keep it, whatever becomes of the event.
struct WeirRecord {
  bool is_reached = false;
};

struct WeirStream {
  struct Item {
    std::function<void()> work;          // or
    std::shared_ptr<WeirRecord> awaits;  // what must be reached before the next item
  };
  int device = 0;  // whose it is
  std::deque<Item> items = {};
  // While it is captured: what was enqueued since.
  std::optional<std::vector<std::function<void()>>> capture = std::nullopt;
  bool is_capture_broken = false;

  bool can_go_on() const {
    return !items.empty() && (items.front().work != nullptr || items.front().awaits->is_reached);
  }
};

namespace weir::gpu::emulator {

std::recursive_mutex& RuntimeMutex();
// Of null the default one.
WeirStream* StreamOf(cudaStream_t stream);
// Into a stream, or what it captures; under the runtime's lock.
void Put(WeirStream* to, std::function<void()> work);
Enqueued& TheEnqueued();
// The thread's current one.
int CurrentDevice();
bool IsOfCurrentDevice(cudaStream_t stream);

// Whether the thread captures a stream, which what asks breaks: a card refuses what may have to
// wait for it.
bool BreaksCaptureOfThread();
// Whether it is memory of cudaMallocHost.
bool IsPinned(const void* at, size_t size);

}  // namespace weir::gpu::emulator
