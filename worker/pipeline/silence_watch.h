// How long the first stage has waited: for the other stages to come, or for a batch to come back.
// A pure state machine.
//
// Silence counts, not how long a batch queues behind others: as long as some batch comes back all
// is well. After answer_timeout_ms of it the stages start over; what was lost on the way is no
// news then. When nothing has come back for join_timeout_ms after that, however often they started
// over, some stage cannot be reached or does not work.
//
// Place in the life of a batch: forward ... **does it come back?**
// Thread rule: owner's lock.
#pragma once

#include <cstdint>
#include <optional>

#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"

namespace weir::worker {

class SilenceWatch {
 public:
  SilenceWatch(const v1::ClusterConfig& cluster, int64_t now_ms)
      : answer_timeout_ms_(cluster.answer_timeout_ms()),
        join_timeout_ms_(cluster.join_timeout_ms()),
        not_ready_since_ms_(now_ms),
        next_notice_ms_(now_ms + kNoticeMs) {}

  void OnView(const v1::PipelineView& view, int64_t now_ms);
  void OnBatchBack(int64_t now_ms);

  // Since when the stages are not all ready, every ten seconds that they are not.
  std::optional<int64_t> NoticeDue(int64_t now_ms);

  enum class Verdict { kFine, kStartOver, kGiveUp };
  struct Silence {
    Verdict verdict = Verdict::kFine;
    int64_t ms = 0;  // that nothing has come back, though something was away
  };
  // oldest_ms: when the batch left that has been away longest; nothing if none is away.
  // kStartOver: once a generation.
  Silence Check(std::optional<int64_t> oldest_ms, int64_t now_ms);

  // Whether the stages have started over since a batch last came back.
  bool has_started_over() const { return tried_ms_.has_value(); }

 private:
  static constexpr int64_t kNoticeMs = 10'000;

  const int64_t answer_timeout_ms_, join_timeout_ms_;
  uint64_t generation_ = 0;
  bool is_ready_ = false;
  bool was_incomplete_ = true;  // a stage was missing since all were last ready
  int64_t not_ready_since_ms_;
  int64_t next_notice_ms_;
  int64_t back_ms_ = 0;  // a batch last came back then, or could first have with all stages there
  // Of a silence in which the stages started over: since when, and when they first did.
  std::optional<int64_t> silent_since_ms_, tried_ms_;
  uint64_t lost_generation_ = 0;
};

}  // namespace weir::worker
