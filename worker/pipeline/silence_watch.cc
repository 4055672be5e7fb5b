#include "worker/pipeline/silence_watch.h"

#include <algorithm>

namespace weir::worker {

void SilenceWatch::OnView(const v1::PipelineView& view, int64_t now_ms) {
  generation_ = view.generation();
  was_incomplete_ |= std::ranges::any_of(
      view.stages(), [](const v1::StagePlace& place) { return place.incarnation() == 0; });
  if (view.ready()) {
    if (was_incomplete_) OnBatchBack(now_ms);  // as good as one
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

void SilenceWatch::OnBatchBack(int64_t now_ms) {
  back_ms_ = now_ms;
  silent_since_ms_ = tried_ms_ = std::nullopt;
}

SilenceWatch::Silence SilenceWatch::Check(std::optional<int64_t> oldest_ms, int64_t now_ms) {
  if (!is_ready_ || !oldest_ms) return {};
  const int64_t since_ms = std::max(*oldest_ms, back_ms_);
  if (now_ms - since_ms <= answer_timeout_ms_) return {};
  if (tried_ms_ && now_ms - *tried_ms_ > join_timeout_ms_) {
    return {Verdict::kGiveUp, now_ms - *silent_since_ms_};
  }
  if (lost_generation_ == generation_) return {};  // there will be another
  lost_generation_ = generation_;
  if (!tried_ms_) {
    silent_since_ms_ = since_ms;
    tried_ms_ = now_ms;
  }
  return {Verdict::kStartOver, now_ms - since_ms};
}

}  // namespace weir::worker
