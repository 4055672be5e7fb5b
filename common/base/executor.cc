#include "common/base/executor.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace weir {
namespace {

// Of work and of who waits for it, whoever goes last.
class EndOfWork {
 public:
  void Tell() {
    std::lock_guard lock(mutex_);
    has_come_ = true;
    changed_.notify_all();
  }
  bool ComesWithin(int64_t timeout_ms) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                             [this] { return has_come_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_come_ = false;
};

class WorkOnThread final : public Executor::Work {
 public:
  explicit WorkOnThread(std::function<void()> work) {
    const auto run = [end = end_, work = std::make_shared<std::function<void()>>(std::move(work))] {
      (*work)();
      end->Tell();
    };
    try {
      thread_ = std::thread(run);
    } catch (const std::system_error&) {
      run();
    }
  }
  ~WorkOnThread() override {
    if (thread_.joinable()) thread_.detach();
  }

  bool EndsWithin(int64_t timeout_ms) override { return end_->ComesWithin(timeout_ms); }
  void Wait() override {
    if (thread_.joinable()) thread_.join();
  }

 private:
  const std::shared_ptr<EndOfWork> end_ = std::make_shared<EndOfWork>();
  std::thread thread_;
};

class ThreadExecutor final : public Executor {
 public:
  std::unique_ptr<Work> Begin(std::function<void()> work) override {
    return std::make_unique<WorkOnThread>(std::move(work));
  }
  bool has_threads() const override { return true; }
};

}  // namespace

Executor& Executor::Threads() {
  static ThreadExecutor threads;
  return threads;
}

}  // namespace weir
