// Makes or loads a server's parameters in the background, while the I/O thread answers those who
// wait for them.
//
// Place in the life of a batch: before the first.
// Thread rule: owner thread only, but progress. What it makes is the background's until it is
// taken.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/shard/load_progress.h"
#include "server/shard/shard.h"

namespace weir::server {

class Loader {
 public:
  using Made = Result<std::unique_ptr<Shard>>;
  // Returns early, with whatever status, when the progress is cancelled.
  using Make = std::function<Made(LoadProgress* progress)>;

  // on_end: called in the background too.
  Loader(Make make, std::function<void()> on_end, Executor& executor = Executor::Threads());
  // Cancels what is not done, and waits for it.
  ~Loader();

  // Whether it ends so soon.
  bool EndsWithin(int64_t timeout_ms);
  // Once, when it has ended; nothing before. Without memory ResourceExhausted.
  std::optional<Made> Take();
  // Any thread.
  v1::Loading progress() const { return progress_.ToProto(); }

 private:
  void Run();
  bool has_ended();
  Made MakeOrRunOut();

  const Make make_;
  const std::function<void()> on_end_;
  LoadProgress progress_;
  Mutex mutex_;
  std::optional<Made> made_ WEIR_GUARDED_BY(mutex_);
  const std::unique_ptr<Executor::Work> work_;  // uses what is above
};

}  // namespace weir::server
