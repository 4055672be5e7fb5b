#include "server/shard/strand.h"

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <new>
#include <utility>

#include "common/base/check.h"
#include "common/base/exit_code.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace weir::server {
namespace {

// Tasks that one strand runs before the others get their turn.
constexpr int kBurst = 16;

constexpr const char* kShortOfMemory =
    "not enough memory for the rows and parameters of this server; use more servers, or fewer "
    "rows_per_table";

// TBB is not instrumented, so ThreadSanitizer must be told what enqueue promises: the task sees
// whatever came before.
void BeforeEnqueue([[maybe_unused]] void* arena) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(arena);
#endif
}
void AfterDequeue([[maybe_unused]] void* arena) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(arena);
#endif
}

}  // namespace

StrandArena::StrandArena(int thread_count, const Executor& executor) {
  if (executor.has_threads()) threads_.emplace(thread_count, 0);
}

// Without memory a push may be half applied: nothing more that this process could do would be
// right, and an exception may not leave a task.
void StrandArena::RunOrEnd(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    EndShortOfMemory();
  }
}

// Who meets it second waits for the end. What is here may need no memory, or is tried.
void StrandArena::EndShortOfMemory() {
  std::call_once(ends_, [this] {
    std::cerr << "error: " << kShortOfMemory << std::endl;
    try {
      if (say_last_words_) say_last_words_(ResourceExhausted(kShortOfMemory));
    } catch (const std::bad_alloc&) {  // then others hear of it by its silence
    }
    std::_Exit(kExitFailed);
  });
  std::abort();  // not reached
}

bool StrandArena::has_ready() const {
  MutexLock lock(mutex_);
  return !ready_.empty();
}

void StrandArena::Begin(Strand* strand) {
  MutexLock lock(mutex_);
  ready_.push_back(strand);
  ++busy_;
  changed_.NotifyAll();
}

Strand* StrandArena::TakeReady() {
  MutexLock lock(mutex_);
  if (ready_.empty()) return nullptr;
  Strand* const strand = ready_.front();
  ready_.pop_front();
  return strand;
}

void StrandArena::Work(const std::function<bool()>& may_go_on) {
  while (Strand* const strand = TakeReady()) {
    Run(strand);
    if (!may_go_on()) return HandOver();
  }
}

void StrandArena::HandOver() {
  while (Strand* const strand = TakeReady()) {
    if (threads_) {
      Enqueue(strand);
    } else {
      Run(strand);
    }
  }
}

void StrandArena::WaitIdle() {
  while (true) {
    HandOver();
    MutexLock lock(mutex_);
    if (busy_ == 0) return;
    while (busy_ != 0 && ready_.empty()) changed_.Wait(lock);
  }
}

// The library has a thread less than the machine has cores, because it counts on who waits.
void StrandArena::ForEach(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> is_short_of_memory = false;
  const auto take_turns = [&] {
    try {
      for (size_t i = next++; i < count && !is_short_of_memory; i = next++) work(i);
    } catch (const std::bad_alloc&) {
      is_short_of_memory = true;
    }
  };
  const int helpers = threads_ ? threads_->max_concurrency() : 0;
  std::vector<std::unique_ptr<Strand>> strands(static_cast<size_t>(helpers));
  for (auto& strand : strands) strand = std::make_unique<Strand>(this);
  RunOrEnd([&] {  // what was posted would outlive its strand
    for (const auto& strand : strands) strand->Post(take_turns);
  });
  HandOver();
  take_turns();
  WaitIdle();
  if (is_short_of_memory) throw std::bad_alloc();
}

void StrandArena::Enqueue(Strand* strand) {
  if (!threads_) {  // whoever runs strands comes to it again
    MutexLock lock(mutex_);
    return ready_.push_back(strand);
  }
  BeforeEnqueue(this);
  const auto task = [this, strand] {
    AfterDequeue(this);
    Run(strand);
  };
  RunOrEnd([&] { threads_->enqueue(task); });  // who waits would wait for ever
}

void StrandArena::Run(Strand* strand) {
  bool is_done = false;
  RunOrEnd([&] { is_done = strand->Drain(); });
  if (!is_done) return Enqueue(strand);
  MutexLock lock(mutex_);
  if (--busy_ == 0) changed_.NotifyAll();
}

Strand::~Strand() { CHECK(!scheduled_) << "WaitIdle comes before the strands go"; }

void Strand::Post(std::function<void()> task) {
  {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    if (std::exchange(scheduled_, true)) return;
  }
  arena_->Begin(this);
}

bool Strand::Drain() {
  for (int i = 0; i < kBurst; ++i) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      if (tasks_.empty()) {
        scheduled_ = false;
        return true;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
  return false;
}

}  // namespace weir::server
