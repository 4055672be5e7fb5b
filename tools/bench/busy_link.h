// A link that is busy while others compute: a thread sends pushes from one end, and one takes them
// at the other and answers each message with some bytes. Both ends are in this process, with the
// I/O threads of their transport, so who computes beside it pays for sending and for receiving, as
// a worker does for pushes and their answers.
//
// Thread rule: StepDone from any thread, the rest from one.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "common/base/status.h"
#include "tools/bench/message_ends.h"

namespace weir::bench {

struct Traffic {
  enum class Pace { kNone, kEachStep, kByRate, kAlways };

  Pace pace = Pace::kNone;
  int64_t push_bytes = 0;
  int messages = 1;             // of a push, of one size each
  double bytes_per_second = 0;  // kByRate
};

class BusyLink {
 public:
  // Begins to send, unless there is nothing to.
  BusyLink(const Traffic& traffic, MessageEnds ends);
  ~BusyLink() { (void)Stop(); }

  // A step more, and so with kEachStep a push.
  void StepDone();
  // With kEachStep until the pushes of all steps have been answered; then the end of sending. Of
  // bytes that did not arrive as they were sent an error.
  Status Stop();

  // Once stopped.
  int64_t sent_bytes() const { return sent_pushes_ * traffic_.push_bytes; }

 private:
  Status Send();
  Status SendPush();
  Status AwaitAnswers(int64_t unanswered);
  Status Answer();
  // Until another push is due; false: none will be.
  bool AwaitDue();

  const Traffic traffic_;
  const MessageEnds ends_;
  const Payload message_, answer_, end_;
  static constexpr int64_t kNotYet = INT64_MAX;
  std::atomic<int64_t> steps_ = 0;            // and one more at the end, so that who waits wakes
  std::atomic<int64_t> all_steps_ = kNotYet;  // once there will be no more
  int64_t sent_pushes_ = 0, unanswered_ = 0;
  double begin_ = 0;
  Status sent_, answered_;
  std::thread sender_, server_;
};

}  // namespace weir::bench
