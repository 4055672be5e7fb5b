// What the coordinator tells workers: work, how the run is, its final report.

#include <algorithm>
#include <utility>

#include "common/session/client_session.h"
#include "server/coordinator/coordinator.h"

namespace weir::server {
namespace {

// How long a stage that is lent nothing waits before it asks how the run is.
constexpr uint32_t kStageWaitMs = 50;
// And when an evaluation waits for it.
constexpr uint32_t kSettlingWaitMs = 5;

// How often who waits for something to do is looked at, though nothing seems to have changed.
constexpr int64_t kLookMs = 50;

// Nothing is to be done.
bool IsIdle(const v1::WorkReply& reply) {
  return reply.work_case() == v1::WorkReply::kWaitMs && reply.checkpoint() == 0;
}

}  // namespace

void Coordinator::Remember(cluster::Seat seat, uint64_t request_id, const v1::Header& reply) {
  Desk& desk = desks_.Change(seat);
  desk.last_request_id = request_id;
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

bool Coordinator::Hold(const v1::WorkRequest& request, const transport::PeerId& peer,
                       const v1::WorkReply& reply, int64_t now_ms) {
  const bool is_idle = IsIdle(reply);
  const cluster::Seat seat = SeatOf(request.speaker());
  const bool may_wait = request.may_wait() || director_.AwaitsPlace(seat);
  if (!may_wait || request.wants_nothing() || !is_idle || !CanHold(0)) return false;
  Held& held = held_[seat];
  held = {.peer = peer, .request = {}, .since_ms = now_ms};
  held.request.set_request_id(request.request_id());
  held.request.set_known_evaluations(request.known_evaluations());
  held.request.set_may_wait(request.may_wait());
  return true;
}

std::vector<Coordinator::HeldReply> Coordinator::TakeHeldReplies(int64_t now_ms) {
  std::vector<HeldReply> replies;
  ReleaseReports(now_ms, &replies);
  const bool has_changed = looked_at_changes_ != director_.changes();
  if (held_.empty() || (!has_changed && now_ms - looked_at_ms_ < kLookMs)) return replies;
  looked_at_changes_ = director_.changes();
  looked_at_ms_ = now_ms;
  bool is_nothing_left = false;  // that one of them could do, for they are alike
  std::erase_if(held_, [&](const auto& entry) {
    const auto& [seat, held] = entry;
    const bool may_wait_longer = now_ms - held.since_ms < LongestHoldMs();
    if (is_nothing_left && may_wait_longer && held.request.may_wait()) return false;
    HeldReply reply{seat, held.peer, {}};
    v1::WorkReply& work = *reply.header.mutable_work_reply();
    FillWork(held.request, seat, now_ms, &work);
    const bool is_idle = IsIdle(work);
    const bool awaits_place = director_.AwaitsPlace(seat);
    is_nothing_left |= is_idle && !awaits_place && !director_.is_in_rounds();
    if (is_idle && may_wait_longer && (held.request.may_wait() || awaits_place)) return false;
    FinishReply(held.request, now_ms, &reply);
    replies.push_back(std::move(reply));
    return true;
  });
  return replies;
}

// It may ask again at once: it has waited here.
void Coordinator::FinishReply(const v1::WorkRequest& request, int64_t now_ms, HeldReply* reply) {
  v1::WorkReply& work = *reply->header.mutable_work_reply();
  if (work.work_case() == v1::WorkReply::kWaitMs) work.set_wait_ms(0);
  work.set_request_id(request.request_id());
  FillRun(request, now_ms, &work);
  Remember(reply->seat, request.request_id(), reply->header);
}

v1::Header Coordinator::ReplyToReport(const v1::Report& report, int64_t now_ms) {
  v1::Header header;
  v1::ReportReply& reply = *header.mutable_report_reply();
  const auto trainers = std::ranges::count_if(
      desks_.values(), [](const auto& entry) { return entry.first.stage == 0; });
  if (report.is_last()) run_book_.SetBounded(bounded_.Sum());
  reply = run_book_.ReplyTo(report, static_cast<uint32_t>(trainers), now_ms);
  if (reply.has_run()) reply.mutable_run()->set_server_restarts(lives_ended_ + shards_.restarts());
  if (failed()) reply.set_failed(failure());
  return header;
}

// All get the same report.
void Coordinator::ReleaseReports(int64_t now_ms, std::vector<HeldReply>* replies) {
  if (held_reports_.empty() || (!failed() && last_words_.AreAwaited(now_ms))) return;
  v1::Header header = ReplyToReport(held_reports_.begin()->second.report, now_ms);
  for (const auto& [seat, held] : held_reports_) {
    header.mutable_report_reply()->set_request_id(held.report.request_id());
    Remember(seat, held.report.request_id(), header);
    replies->push_back({seat, held.peer, header});
  }
  held_reports_.clear();
}

// What it has at work goes on; then the reply is there for it when it asks again, as any other.
void Coordinator::OnLostReply(cluster::Seat seat) {
  if (director_.is_in_rounds()) return;  // others wait for it; who is dead is found silent
  Desk& desk = desks_.Change(seat);
  const bool lends = desk.last_reply.work_reply().has_chunk();
  if (director_.LeasesOf(seat) > (lends ? 1 : 0)) return;
  director_.TakeBack(seat);
  if (desk.last_request_id > 0) --desk.last_request_id;  // it may ask again
}

// Stages ask again soon: others may wait for them, and they for others.
bool Coordinator::CanHold(int64_t for_ms) const {
  return admission_.stage_count() <= 1 && LongestHoldMs() > for_ms;
}

// A worker that hears nothing for long doubts its connection; half of that time is for the way and
// for who looks late.
int64_t Coordinator::LongestHoldMs() const {
  constexpr int64_t kLateMs = 100;
  return session::SilenceMs(config_.cluster().answer_timeout_ms()) / 2 - kLateMs;
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
  if (request.wants_nothing()) return reply->set_wait_ms(0);
  checkpoints_.Fill(seat, reply);
  const bool lacks_stage = admission_.stage_count() > 1 && !pipelines_.IsReady(seat.trainer);
  if (running() && (seat.stage > 0 || lacks_stage)) {
    const bool is_awaited = seat.stage > 0 && !settling_.HasSettled(seat, director_.settling());
    return reply->set_wait_ms(is_awaited ? kSettlingWaitMs : kStageWaitMs);
  }
  const bool may_look = CanHold(cluster::RunDirector::kLongestLookMs);
  reply->MergeFrom(director_.Next(seat, now_ms, may_look));
  if (reply->has_chunk()) {
    reply->mutable_chunk()->set_generation(pipelines_.Generation(seat.trainer));
  }
  // A stage asks again until its last push is taken.
  if (reply->has_finished() && seat.stage > 0 && request.is_busy()) reply->set_wait_ms(1);
}

void Coordinator::FillRun(const v1::WorkRequest& request, int64_t now_ms, v1::WorkReply* reply) {
  if (failed()) {
    reply->set_failed(failure());
    return;
  }
  director_.FillProgress(request.known_evaluations(), now_ms, reply->mutable_progress());
}

}  // namespace weir::server
