// What the coordinator tells workers: work, how the run is, its final report.

#include <algorithm>
#include <utility>

#include "common/config/config_hash.h"
#include "common/metrics/warnings.h"
#include "server/coordinator/coordinator.h"

namespace weir::server {
namespace {

// How long a stage that is lent nothing waits before it asks how the run is.
constexpr uint32_t kStageWaitMs = 50;
// And when an evaluation waits for it.
constexpr uint32_t kSettlingWaitMs = 5;

// How often who waits for something to do is looked at, though nothing seems to have changed.
constexpr int64_t kLookMs = 50;

// How long the final report waits for the stages' last ones.
constexpr int64_t kLastWordsMs = 2000;

}  // namespace

void Coordinator::Remember(cluster::Seat seat, const v1::Header& reply) {
  Desk& desk = desks_[seat];
  desk.last_request_id = reply.work_reply().request_id();
  desk.last_reply = reply;
}

// Over another connection perhaps, to which the reply goes then.
bool Coordinator::IsHeld(const v1::WorkRequest& request, const transport::PeerId& peer) {
  const auto held = held_.find(SeatOf(request.speaker()));
  if (held == held_.end() || held->second.request.request_id() != request.request_id()) {
    return false;
  }
  held->second.peer = peer;
  return true;
}

// A later stage asks again soon, for others may wait for it.
bool Coordinator::Hold(const v1::WorkRequest& request, const transport::PeerId& peer,
                       const v1::WorkReply& reply, int64_t now_ms) {
  const cluster::Seat seat = SeatOf(request.speaker());
  if (!request.may_wait() || seat.stage > 0 || reply.work_case() != v1::WorkReply::kWaitMs) {
    return false;
  }
  Held& held = held_[seat];
  held = {.peer = peer, .request = {}, .since_ms = now_ms};
  held.request.set_request_id(request.request_id());
  held.request.set_known_evaluations(request.known_evaluations());
  return true;
}

std::vector<std::pair<transport::PeerId, v1::Header>> Coordinator::TakeHeldReplies(int64_t now_ms) {
  std::vector<std::pair<transport::PeerId, v1::Header>> replies;
  const bool has_changed = looked_at_changes_ != director_.changes();
  if (held_.empty() || (!has_changed && now_ms - looked_at_ms_ < kLookMs)) return replies;
  looked_at_changes_ = director_.changes();
  looked_at_ms_ = now_ms;
  // Less than the silence after which a worker doubts its connection.
  const int64_t longest_ms =
      std::clamp<int64_t>(config_.cluster().answer_timeout_ms() / 16, 50, 1500);
  std::erase_if(held_, [&](const auto& entry) {
    const auto& [seat, held] = entry;
    v1::Header header;
    FillReply(held.request, seat, now_ms, header.mutable_work_reply());
    const bool is_idle = header.work_reply().work_case() == v1::WorkReply::kWaitMs;
    if (is_idle && now_ms - held.since_ms < longest_ms) return false;
    Remember(seat, header);
    replies.emplace_back(held.peer, std::move(header));
    return true;
  });
  return replies;
}

void Coordinator::FillReply(const v1::WorkRequest& request, cluster::Seat seat, int64_t now_ms,
                            v1::WorkReply* reply) {
  reply->set_request_id(request.request_id());
  if (admission_.stage_count() > 1) pipelines_.FillView(seat.trainer, reply->mutable_pipeline());
  FillWork(request, seat, now_ms, reply);
  FillRun(request, now_ms, reply);
}

// A later stage is given work by the one before it; a trainer that lacks a stage could not do any.
void Coordinator::FillWork(const v1::WorkRequest& request, cluster::Seat seat, int64_t now_ms,
                           v1::WorkReply* reply) {
  const bool lacks_stage = admission_.stage_count() > 1 && !pipelines_.IsReady(seat.trainer);
  if (running() && (seat.stage > 0 || lacks_stage)) {
    const bool is_awaited = seat.stage > 0 && !settling_.HasSettled(seat, director_.settling());
    return reply->set_wait_ms(is_awaited ? kSettlingWaitMs : kStageWaitMs);
  }
  reply->MergeFrom(director_.Next(seat, now_ms));
  if (reply->has_chunk()) {
    reply->mutable_chunk()->set_generation(pipelines_.Generation(seat.trainer));
  }
  desks_[seat].has_reported_end = reply->has_finished() && !request.is_busy();
  if (!reply->has_finished()) return;
  // It asks again until its last push is taken.
  if (seat.stage > 0 && request.is_busy()) reply->set_wait_ms(1);
  if (seat.stage == 0 && AwaitsStages(now_ms)) reply->set_wait_ms(1);
}

// The first stage would hear of the end at once, the others hear when they ask next.
bool Coordinator::AwaitsStages(int64_t now_ms) {
  if (!finished_ms_) finished_ms_ = now_ms;
  if (now_ms - *finished_ms_ > kLastWordsMs) return false;
  return HasMember([](cluster::Seat seat, const Desk& desk) {
    return seat.stage > 0 && !desk.has_reported_end;
  });
}

void Coordinator::FillRun(const v1::WorkRequest& request, int64_t now_ms,
                          v1::WorkReply* reply) const {
  if (failed()) {
    reply->set_failed(failure());
    return;
  }
  v1::RunProgress& progress = *reply->mutable_progress();
  director_.FillProgress(request.known_evaluations(), now_ms, &progress);
  *progress.mutable_merged() = reports_.merged();
  progress.mutable_merged()->clear_staleness();
  if (reply->has_finished()) *reply->mutable_finished() = FinalReport(now_ms);
}

v1::RunReport Coordinator::FinalReport(int64_t now_ms) const {
  v1::RunReport report;
  report.set_mode("async");
  report.set_servers(server_count_);
  report.set_trainers(static_cast<uint32_t>(
      std::ranges::count_if(desks_, [](const auto& entry) { return entry.first.stage == 0; })));
  report.set_stages(static_cast<uint32_t>(config_.pipeline().split_size()) + 1);
  report.set_seed(config_.run().seed());
  report.set_config_hash(config::ConfigHash(config_));
  director_.FillReport(now_ms, &report);
  *report.mutable_total() = reports_.merged();
  metrics::AddWarnings({.config = config_,
                        .evaluations = director_.evaluations(),
                        .goes_on = identity_.warm_start() != 0},
                       &report);
  return report;
}

}  // namespace weir::server
