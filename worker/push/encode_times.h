// Where the time of a push goes: deciding what leaves, writing it, waiting for servers.
//
// Deciding and writing alternate, stripe by stripe, a microsecond or so each. A look at the clock
// around each would be a part of what it measures. So one step of a thread in some dozens is looked
// at that closely, and the others are shared out as those were.
//
// Place in the life of a batch: beside select -> encode -> push.
// Thread rule: one thread's.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "common/base/timed.h"

namespace weir::worker {

// Seconds.
struct PushSeconds {
  double select = 0;   // taking gradients in, and deciding what of the dense ones leaves
  double encode = 0;   // writing that, and all that is done for rows
  double waiting = 0;  // for room in the window, and for agreement
  double update = 0;   // applying, of a client without servers

  double sum() const { return select + encode + waiting + update; }
  void Add(const PushSeconds& other) {
    select += other.select;
    encode += other.encode;
    waiting += other.waiting;
    update += other.update;
  }
};

class EncodeTimes {
 public:
  // A prime: where steps come in parts, each part has its turn, unless there are as many.
  static constexpr uint64_t kCloseEvery = 31;

  // The step at hand is looked at closely.
  bool is_close() const { return is_close_; }

  // What took so long without rows, and rows; of what was looked at closely, how much of the first
  // was writing.
  void Add(double layers, double rows, std::optional<double> writing);
  // Since they were taken last.
  PushSeconds Take() { return std::exchange(times_, {}); }

  // Lives while a step is encoded, or a part of one that leaves alone.
  class Step {
   public:
    explicit Step(EncodeTimes* times);
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    EncodeTimes& times_;
    const double begin_ = MonotonicSeconds();
  };
  // Within that, while something that was selected is written; costs nothing in most steps.
  class Writing {
   public:
    explicit Writing(EncodeTimes* times) {
      if (times->is_close_) timed_.emplace(&times->writing_);
    }

   private:
    std::optional<Timed> timed_;
  };
  // And while rows are encoded.
  class Rows : public Timed {
   public:
    explicit Rows(EncodeTimes* times) : Timed(&times->rows_) {}
  };

 private:
  PushSeconds times_;
  // Of all that was looked at closely.
  double close_layers_ = 0, close_writing_ = 0;
  // Of the step at hand.
  bool is_close_ = false;
  double writing_ = 0, rows_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace weir::worker
