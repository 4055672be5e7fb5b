#include "worker/pipeline/silence_watch.h"

#include <algorithm>

namespace weir::worker {

void SilenceWatch::OnView(const v1::PipelineView& view, int64_t now_ms) {
  generation_ = view.generation();
  was_incomplete_ |= std::ranges::any_of(
      view.stages(), [](const v1::StagePlace& place) { return place.incarnation() == 0; });
  if (view.ready()) {
    if (was_incomplete_) back_ms_ = now_ms;
    was_incomplete_ = false;
  } else if (is_ready_) {
    not_ready_since_ms_ = now_ms;
    next_notice_ms_ = now_ms + kNoticeMs;
  }
  is_ready_ = view.ready();
}

std::optional<int64_t> SilenceWatch::NoticeDue(int64_t now_ms) {
  if (is_ready_ || now_ms < next_notice_ms_) return std::nullopt;
  next_notice_ms_ = now_ms + kNoticeMs;
  return not_ready_since_ms_;
}

SilenceWatch::Verdict SilenceWatch::Check(std::optional<int64_t> oldest_ms, int64_t now_ms) {
  if (!is_ready_ || !oldest_ms) return Verdict::kFine;
  if (now_ms - std::max(*oldest_ms, back_ms_) <= answer_timeout_ms_) return Verdict::kFine;
  if (now_ms - back_ms_ > answer_timeout_ms_ + join_timeout_ms_) return Verdict::kGiveUp;
  if (lost_generation_ == generation_) return Verdict::kFine;  // there will be another
  lost_generation_ = generation_;
  return Verdict::kStartOver;
}

}  // namespace weir::worker
