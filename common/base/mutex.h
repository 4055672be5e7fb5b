// A mutex of which clang checks who holds it, its lock, and a condition that waits with that; and
// the words that say what is guarded. The library's own say nothing to the compiler.
//
// A member says which mutex guards it, a function that is called under the lock that it requires
// it: clang's -Wthread-safety refuses whatever touches the one, or calls the other, without it. To
// other compilers the words are nothing. What one thread writes under the lock and reads without,
// while others read it under the lock, has no word, but a comment. std::mutex stays where a lock is
// tried, or kept in a list.
//
// Place in the life of a batch: none; wherever threads share something but by Hogwild (hogwild.h).
// Thread rule: any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#if defined(__clang__)
#define WEIR_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define WEIR_THREAD_SAFETY(attribute)
#endif

// Of a member.
#define WEIR_GUARDED_BY(mutex) WEIR_THREAD_SAFETY(guarded_by(mutex))
// Of a function, or of a lambda: whoever calls it holds the mutex.
#define WEIR_REQUIRES(...) WEIR_THREAD_SAFETY(requires_capability(__VA_ARGS__))

namespace weir {

class WEIR_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds the mutex while it lives.
class WEIR_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) WEIR_THREAD_SAFETY(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() WEIR_THREAD_SAFETY(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

// Waits are in a loop that looks at what is awaited, for they end without a reason, too; clang sees
// the lock there, and in a function that were handed over it would not.
class Condition {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void Wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  // False once it is too late.
  bool WaitUntil(MutexLock& lock, Time end) {
    return changed_.wait_until(lock.lock_, end) == std::cv_status::no_timeout;
  }
  void NotifyAll() { changed_.notify_all(); }

  static Time After(int64_t timeout_ms) {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  }

 private:
  std::condition_variable changed_;
};

}  // namespace weir
