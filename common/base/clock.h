// Time as an argument: everything with a deadline asks a Clock, so that tests can move it.
//
// Thread rule: any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace weir {

class Clock {
 public:
  virtual ~Clock() = default;

  // Milliseconds since an arbitrary start; never goes back.
  virtual int64_t NowMs() const = 0;

  // The machine's monotonic clock.
  static const Clock& Real();
};

// Stands still until told otherwise.
class ManualClock : public Clock {
 public:
  int64_t NowMs() const override { return now_ms_.load(); }
  void Advance(int64_t duration_ms) { now_ms_ += duration_ms; }

 private:
  std::atomic<int64_t> now_ms_{0};
};

// The time in which this process could act. One thread looks at it, at least every longest_gap_ms
// while the process runs; where more lies between two looks, the process stood still (a stopped
// container, a debugger), and counts as longest_gap_ms. It is that of the last look, and goes back
// by GoOnFrom alone. Thread rule: Look by one thread, NowMs by any.
class AwakeClock : public Clock {
 public:
  // Fits a thread that looks several times a second.
  static constexpr int64_t kLongestGapMs = 1000;

  explicit AwakeClock(const Clock& clock, int64_t longest_gap_ms = kLongestGapMs)
      : clock_(clock),
        longest_gap_ms_(longest_gap_ms),
        last_ms_(clock.NowMs()),
        awake_ms_(last_ms_) {}

  int64_t Look() {
    const int64_t now_ms = clock_.NowMs();
    const int64_t gap_ms = std::min(now_ms - last_ms_, longest_gap_ms_);
    awake_ms_ += gap_ms;
    still_ms_ += now_ms - last_ms_ - gap_ms;
    last_ms_ = now_ms;
    return awake_ms_;
  }
  int64_t NowMs() const override { return awake_ms_; }
  // From what another process last called its time, whatever this machine calls it now: for who has
  // waited since then, no time has gone by in which somebody could act.
  void GoOnFrom(int64_t time_ms) { awake_ms_ = time_ms; }
  // For how long it stood still in all.
  int64_t still_ms() const { return still_ms_; }

 private:
  const Clock& clock_;
  const int64_t longest_gap_ms_;
  int64_t last_ms_;
  std::atomic<int64_t> awake_ms_;
  std::atomic<int64_t> still_ms_{0};
};

// Seconds on the monotonic clock, for measuring and reporting only.
double MonotonicSeconds();

// Adds the seconds that it lives to *total, which other threads may add to.
class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<double>* total) : total_(total) {}
  ~Stopwatch() { total_->fetch_add(MonotonicSeconds() - begin_, std::memory_order_relaxed); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::atomic<double>* const total_;
  const double begin_ = MonotonicSeconds();
};

}  // namespace weir
