// A strand: a queue whose tasks run one at a time, in order, on a shared arena of threads or on the
// thread of who posts. Whatever a strand owns (a piece, a row partition) therefore has one writer
// at a time and needs no lock, and its state is a function of the order in which tasks were posted.
//
// To wake a thread of the arena, and to be woken by it, takes some ten microseconds, and it looks
// for more to do for as long again before it sleeps. So a strand that was idle first waits: who
// posted does its work (Work), or gives it to the arena (HandOver).
//
// Where the executor has no threads the arena has none: who hands over or waits runs the strands
// then, in the order in which they became ready, a few tasks of each.
//
// Place in the life of a batch: dispatcher -> **queue** -> decode and apply -> answer.
// Thread rule: any thread; who posts sees to it that Work or HandOver comes. The arena outlives its
// strands, and WaitIdle() comes before the strands go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include <tbb/task_arena.h>

#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace weir::server {

class Strand;

class StrandArena {
 public:
  explicit StrandArena(int thread_count, const Executor& executor = Executor::Threads());

  // Called once when memory has run out, on the thread that met it, before the process ends. Before
  // anything is posted.
  void SetLastWords(std::function<void(const Status& why)> say) {
    say_last_words_ = std::move(say);
  }

  // Does work(0), work(1), ... on the arena's threads and the caller's, in any order and several at
  // a time, and returns when all is done. Throws std::bad_alloc when one of them has; the others
  // may be left out then. For before anything is posted: nobody may post meanwhile.
  void ForEach(size_t count, const std::function<void(size_t)>& work);

  // Whether a strand waits for one of the next two.
  bool has_ready() const;
  // Runs strands on this thread, those first that have waited longest, a few tasks of each; once
  // may_go_on says no, the others are handed over.
  void Work(const std::function<bool()>& may_go_on);
  void HandOver();

  // Until no strand has anything queued or running, handing over what waits. Only tasks may post
  // meanwhile.
  void WaitIdle();

 private:
  friend class Strand;
  // The strand has something to do, and nobody who does it yet.
  void Begin(Strand* strand);
  Strand* TakeReady();
  void Enqueue(Strand* strand);
  void Run(Strand* strand);
  void RunOrEnd(const std::function<void()>& work);
  [[noreturn]] void EndShortOfMemory();

  std::optional<tbb::task_arena> threads_;  // unless the executor has none
  std::function<void(const Status& why)> say_last_words_;
  std::once_flag ends_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Strand*> ready_ WEIR_GUARDED_BY(mutex_);
  // Strands that are ready, given to the arena or running.
  int64_t busy_ WEIR_GUARDED_BY(mutex_) = 0;
};

class Strand {
 public:
  explicit Strand(StrandArena* arena) : arena_(arena) {}
  Strand(const Strand&) = delete;  // tasks hold its address
  Strand& operator=(const Strand&) = delete;
  ~Strand();

  void Post(std::function<void()> task);

 private:
  friend class StrandArena;
  // A few tasks; whether that was all.
  bool Drain();

  StrandArena* const arena_;
  Mutex mutex_;
  std::deque<std::function<void()>> tasks_ WEIR_GUARDED_BY(mutex_);
  bool scheduled_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir::server
