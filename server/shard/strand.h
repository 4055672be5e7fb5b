// A strand: a queue whose tasks run one at a time, in order, on a shared arena of threads or on the
// thread of who posts. Whatever a strand owns (a piece, a row partition) therefore has one writer
// at a time and needs no lock, and its state is a function of the order in which tasks were posted.
//
// Place in the life of a batch: dispatcher -> **queue** -> decode and apply -> answer.
// Thread rule: post from any thread. The arena outlives its strands, and WaitIdle() comes before
// the strands go.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include <tbb/task_arena.h>

#include "common/base/status.h"

namespace weir::server {

class StrandArena {
 public:
  explicit StrandArena(int thread_count) : arena_(thread_count, 0) {}

  // Called once when memory has run out, on the thread that met it, before the process ends. Before
  // anything is posted.
  void SetLastWords(std::function<void(const Status& why)> say) {
    say_last_words_ = std::move(say);
  }

  // Until no strand has anything queued or running. Nobody may post meanwhile.
  void WaitIdle();

 private:
  friend class Strand;
  void Enqueue(std::function<void()> work);
  // On the caller's thread, before it returns.
  void Run(const std::function<void()>& work);
  void Started();
  void Finished();
  void RunOrEnd(const std::function<void()>& work);
  [[noreturn]] void EndShortOfMemory();

  tbb::task_arena arena_;
  std::function<void(const Status& why)> say_last_words_;
  std::once_flag ends_;
  std::mutex mutex_;
  std::condition_variable idle_;
  int64_t running_ = 0;
};

class Strand {
 public:
  explicit Strand(StrandArena* arena) : arena_(arena) {}
  Strand(const Strand&) = delete;  // tasks hold its address
  Strand& operator=(const Strand&) = delete;
  ~Strand();

  void Post(std::function<void()> task);

  // For tasks that take less time than waking another thread: a strand with nothing queued or
  // running does it here, before this returns, and a few that others post meanwhile. Otherwise as
  // Post.
  void PostOrRun(std::function<void()> task);

 private:
  // Whether it was idle: the caller has to see to it that Drain is called.
  bool Queue(std::function<void()> task);
  void Drain();

  StrandArena* const arena_;
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;
  bool scheduled_ = false;
};

}  // namespace weir::server
