#include "server/shard/strand.h"

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

void StrandArena::WaitIdle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return running_ == 0; });
}

void StrandArena::Enqueue(std::function<void()> work) {
  Started();
  BeforeEnqueue(this);
  auto task = [this, work = std::move(work)] {
    AfterDequeue(this);
    RunOrEnd(work);
    Finished();
  };
  RunOrEnd([&] { arena_.enqueue(std::move(task)); });  // who waits would wait for ever
}

void StrandArena::Run(const std::function<void()>& work) {
  Started();
  RunOrEnd(work);
  Finished();
}

void StrandArena::Started() {
  std::lock_guard lock(mutex_);
  ++running_;
}

void StrandArena::Finished() {
  std::lock_guard lock(mutex_);
  if (--running_ == 0) idle_.notify_all();
}

Strand::~Strand() { CHECK(!scheduled_) << "WaitIdle comes before the strands go"; }

void Strand::Post(std::function<void()> task) {
  if (Queue(std::move(task))) arena_->Enqueue([this] { Drain(); });
}

void Strand::PostOrRun(std::function<void()> task) {
  if (Queue(std::move(task))) arena_->Run([this] { Drain(); });
}

bool Strand::Queue(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  return !std::exchange(scheduled_, true);
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
