#include "server/strand.h"

#include <utility>

#include "common/base/check.h"

namespace weir::server {
namespace {

// Tasks that one strand runs before the others get their turn.
constexpr int kBurst = 16;

}  // namespace

void StrandArena::WaitIdle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return running_ == 0; });
}

void StrandArena::Enqueue(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    ++running_;
  }
  arena_.enqueue([this, work = std::move(work)] {
    work();
    Finished();
  });
}

void StrandArena::Finished() {
  std::lock_guard lock(mutex_);
  if (--running_ == 0) idle_.notify_all();
}

Strand::~Strand() { CHECK(!scheduled_) << "WaitIdle comes before the strands go"; }

void Strand::Post(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (scheduled_) return;
    scheduled_ = true;
  }
  arena_->Enqueue([this] { Drain(); });
}

void Strand::Drain() {
  for (int i = 0; i < kBurst; ++i) {
    std::function<void()> task;
    {
      std::lock_guard lock(mutex_);
      if (tasks_.empty()) {
        scheduled_ = false;
        return;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
  arena_->Enqueue([this] { Drain(); });
}

}  // namespace weir::server
