#include "worker/link/joining.h"

#include <algorithm>
#include <utility>

#include "common/base/strings.h"

namespace weir::worker {
namespace {

constexpr int64_t kRetryMs = 300;
// How long a seat is still asked for once it should have become free.
constexpr int64_t kFreeSeatMs = 2000;
// Who holds a seat and lives says so every second; when it becomes free moves so much by then.
constexpr int64_t kSilentHolderMs = 3000, kHeardAgainMs = 500;

v1::Header JoinHeader(const JoinOptions& options) {
  v1::Header header;
  v1::Join& join = *header.mutable_join();
  *join.mutable_identity() = options.identity;
  join.set_trainer(options.trainer);
  join.set_stage(options.stage);
  join.set_stage_count(options.stage_count);
  join.set_link_address(options.link_address);
  join.set_saves(options.saves);
  join.set_stays(options.stays);
  join.set_awaits_model(options.awaits_model);
  join.mutable_file_bytes()->Assign(options.file_bytes.begin(), options.file_bytes.end());
  join.set_train_files(options.train_files);
  join.set_nonce(options.nonce);
  return header;
}

}  // namespace

Joining::Joining(JoinOptions options, int64_t now_ms)
    : options_(std::move(options)),
      started_ms_(now_ms),
      deadline_ms_(now_ms + options_.timeout_ms),
      next_ms_(now_ms) {}

Result<std::optional<v1::Header>> Joining::Tick(int64_t now_ms) {
  if (now_ms >= deadline_ms_) {
    return DeadlineExceeded(StrCat("could not join the run through ", options_.coordinator_name,
                                   " within ", deadline_ms_ - started_ms_, " ms; ", reason_));
  }
  std::optional<v1::Header> request;
  if (now_ms >= next_ms_) {
    request = JoinHeader(options_);
    next_ms_ = now_ms + kRetryMs;
  }
  return request;
}

Result<std::optional<v1::JoinReply>> Joining::OnMessage(const v1::Header& header, int64_t now_ms) {
  std::optional<v1::JoinReply> place;
  if (header.has_join_reply()) place = header.join_reply();
  if (header.has_refusal()) WEIR_RETURN_IF_ERROR(OnRefusal(header.refusal(), now_ms));
  return place;
}

Status Joining::OnRefusal(const v1::Refusal& refusal, int64_t now_ms) {
  reason_ = StrCat("refuses: ", refusal.reason());
  if (!refusal.retry()) {
    if (refusal.has_warm_start()) begun_with_ = refusal.warm_start();
    std::string message = StrCat(options_.coordinator_name, " ", reason_);
    return refusal.finished_well() ? TooLate(std::move(message))
                                   : FailedPrecondition(std::move(message));
  }
  reason_ = StrCat("it ", reason_);
  if (refusal.has_loading()) {
    notice_.Tell(refusal.reason(), now_ms);
    reason_ = StrCat("nothing new was heard for ", options_.timeout_ms,
                     " ms (cluster.connect_timeout_ms) but: ", refusal.reason());
    if (watch_.HasProgressed(refusal.loading())) {
      deadline_ms_ = std::max(deadline_ms_, now_ms + options_.timeout_ms);
    }
  }
  if (refusal.wait_ms() > 0) AwaitSeat(refusal.wait_ms(), now_ms);
  return OkStatus();
}

// Of a process that is gone, perhaps, whose place this one is to take. A coordinator that is
// started anew counts its silence from then on.
void Joining::AwaitSeat(int64_t wait_ms, int64_t now_ms) {
  const int64_t free_ms = now_ms + std::min(wait_ms, options_.member_timeout_ms);
  const bool is_silent = !seat_free_ms_ || now_ms - seat_heard_ms_ >= kSilentHolderMs;
  if (!seat_free_ms_ || free_ms > *seat_free_ms_ + kHeardAgainMs) {
    seat_free_ms_ = free_ms;
    seat_heard_ms_ = now_ms;
  }
  if (!is_silent) return;
  deadline_ms_ = std::max(deadline_ms_, *seat_free_ms_ + kFreeSeatMs);
}

}  // namespace weir::worker
