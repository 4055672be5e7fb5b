// What a worker's first steps tell of the costs of its pushes.
//
// Place in the life of a batch: backward -> group -> select -> encode -> **push**.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "common/schedule/step_times.h"
#include "worker/client/push_groups.h"

namespace weir::worker {

// A step of the calling thread, which has left.
struct MeasuredPush {
  schedule::MeasuredStep step;
  // The thread's push before left in the same way. A step that waits for its push does so at the
  // beginning of the next one.
  bool follows_its_kind = false;
  // From the thread's last push to this one, whatever it waited for.
  double seconds_since_push = 0;
  // Of a step that left at once: bytes of its layers, and of its rows, for each server; and of the
  // layers that agree with other trainers, which leave at the end in any case.
  std::span<const size_t> layer_bytes;
  std::span<const size_t> row_bytes;
  size_t agreed_bytes = 0;
};

class MeasuredPushes {
 public:
  // Of the layers, in backward order.
  explicit MeasuredPushes(const std::vector<schedule::Layer>& layers);

  void Add(MeasuredPush push);
  // Of pushes that left at once, and of those that left layer by layer, what there is less of.
  size_t count() const { return times_.count(); }
  bool wants_single() const { return times_.wants_single(); }

  // Of those that left at once, the mean: of layers for each server.
  std::vector<int64_t> LayerBytes() const;
  // What messages take, by their bytes. Threads that do not wait for theirs (kPeriod) share the
  // connections, so to each a message takes as many times as long.
  schedule::Costs Fit(const schedule::Line& messages, schedule::Objective objective) const;

 private:
  double element_count_;
  schedule::StepTimes times_;
  std::vector<double> layer_bytes_;  // of all that left at once, for each server
  double agreed_bytes_ = 0;          // of these what agrees with other trainers
  double fixed_bytes_ = 0;           // that, and rows
  double single_count_ = 0;
  std::set<std::thread::id> threads_;
};

}  // namespace weir::worker
