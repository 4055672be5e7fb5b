// Makes or loads a server's parameters on a thread of its own, while the I/O thread answers those
// who wait for them.
//
// Place in the life of a batch: before the first.
// Thread rule: owner thread only, but progress. What it makes is its own thread's until it is
// taken.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "common/base/status.h"
#include "server/shard/load_progress.h"
#include "server/shard/shard.h"

namespace weir::server {

class Loader {
 public:
  using Made = Result<std::unique_ptr<Shard>>;
  // Returns early, with whatever status, when the progress is cancelled.
  using Make = std::function<Made(LoadProgress* progress)>;

  // on_end: called from the loader's thread.
  Loader(Make make, std::function<void()> on_end);
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
  Made MakeOrRunOut();

  const Make make_;
  const std::function<void()> on_end_;
  LoadProgress progress_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<Made> made_;
  std::thread thread_;
};

}  // namespace weir::server
