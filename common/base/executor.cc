#include "common/base/executor.h"

#include <system_error>
#include <thread>
#include <utility>

#include "common/base/mutex.h"

namespace weir {
namespace {

// Of work and of who waits for it, whoever goes last.
class EndOfWork {
 public:
  void Tell() {
    MutexLock lock(mutex_);
    has_come_ = true;
    changed_.NotifyAll();
  }
  bool ComesWithin(int64_t timeout_ms) {
    MutexLock lock(mutex_);
    const Condition::Time end = Condition::After(timeout_ms);
    while (!has_come_ && changed_.WaitUntil(lock, end)) continue;
    return has_come_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool has_come_ WEIR_GUARDED_BY(mutex_) = false;
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
