#include "server/loader.h"

#include <exception>
#include <new>
#include <utility>

namespace weir::server {

Loader::Loader(Make make, std::function<void()> on_end, Executor& executor)
    : make_(std::move(make)),
      on_end_(std::move(on_end)),
      work_(executor.Begin([this] { Run(); })) {}

Loader::~Loader() {
  progress_.Cancel();
  work_->Wait();
}

void Loader::Run() {
  Made made = MakeOrRunOut();
  {
    MutexLock lock(mutex_);
    made_.emplace(std::move(made));
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

bool Loader::has_ended() {
  MutexLock lock(mutex_);
  return made_.has_value();
}

bool Loader::EndsWithin(int64_t timeout_ms) { return has_ended() || work_->EndsWithin(timeout_ms); }

std::optional<Loader::Made> Loader::Take() {
  MutexLock lock(mutex_);
  return std::exchange(made_, std::nullopt);
}

}  // namespace weir::server
