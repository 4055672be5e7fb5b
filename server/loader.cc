#include "server/loader.h"

#include <chrono>
#include <exception>
#include <new>
#include <utility>

namespace weir::server {

Loader::Loader(Make make, std::function<void()> on_end)
    : make_(std::move(make)), on_end_(std::move(on_end)), thread_([this] { Run(); }) {}

Loader::~Loader() {
  progress_.Cancel();
  thread_.join();
}

void Loader::Run() {
  Made made = MakeOrRunOut();
  {
    std::lock_guard lock(mutex_);
    made_.emplace(std::move(made));
    ended_.notify_all();
  }
  on_end_();
}

Loader::Made Loader::MakeOrRunOut() {
  try {
    return make_(&progress_);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(
        "not enough memory for the model; see its widths and tables in the config, or use more "
        "servers");
  } catch (const std::exception& exception) {  // of a library, where the machine lacks something
    return ResourceExhausted(exception.what());
  }
}

bool Loader::EndsWithin(int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                         [&] { return made_.has_value(); });
}

std::optional<Loader::Made> Loader::Take() {
  std::lock_guard lock(mutex_);
  return std::exchange(made_, std::nullopt);
}

}  // namespace weir::server
