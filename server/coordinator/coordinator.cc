#include "server/coordinator/coordinator.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/config/config_hash.h"
#include "common/session/loading.h"
#include "common/session/run_identity.h"
#include "common/session/score_message.h"

namespace weir::server {
namespace {

// After the end, how long the coordinator stays for those who have not said farewell. A server that
// is cut off, or is started again, has as long for it as for anything else.
constexpr int64_t kFarewellMs = 5000;
// And for those who wait to join: they ask every 300 ms.
constexpr int64_t kTellMs = 1000;

v1::Header RefusalHeader(std::string reason, bool retry) {
  v1::Header header;
  header.mutable_refusal()->set_reason(std::move(reason));
  header.mutable_refusal()->set_retry(retry);
  return header;
}

}  // namespace

Coordinator::Coordinator(const v1::Config& config, v1::RunIdentity identity, uint32_t server_count,
                         uint64_t run, std::vector<std::string> server_addresses,
                         Executor& executor)
    : config_(config),
      identity_(std::move(identity)),
      server_count_(server_count),
      run_(run),
      admission_(static_cast<uint32_t>(config.pipeline().split_size()) + 1),
      membership_(config.cluster().member_timeout_ms()),
      run_book_(config_,
                {.mode = config.consistency().has_sync() ? "sync" : "async",
                 .config_hash = config::ConfigHash(config),
                 .servers = server_count,
                 .goes_on = identity_.warm_start() != 0},
                executor),
      director_(run_book_.director()),
      reports_(run_book_.reports()),
      checkpoints_(config_, server_count, &run_book_),
      pipelines_(run_),
      saver_(config.cluster().join_timeout_ms()),
      save_(config.data(), server_count),
      shards_(identity_, server_count, std::move(server_addresses), run_) {}

v1::Header Coordinator::OnJoin(const v1::Join& join, int64_t now_ms) {
  const std::string difference = session::DescribeMismatch(identity_, join.identity());
  if (!difference.empty()) return RefuseOtherRun(difference, join.identity());
  if (failed()) return RefusalHeader("the run has failed: " + failure(), false);
  if (!running() && !(join.saves() && saver_.awaits())) return RefuseOverRun(join);
  if (loading_.is_any() && !membership_.IsMember({join.trainer(), join.stage()})) {
    return RefuseWhileLoading(now_ms);
  }
  if (Status status = CheckJoin(join); !status.ok()) return RefusalHeader(status.message(), false);
  const auto admission = membership_.Join({join.trainer(), join.stage()}, join.nonce(), now_ms);
  if (admission.incarnation == 0) {
    last_knock_ms_ = last_waited_ms_ = now_ms;
    return RefuseTakenSeat(join, admission);
  }
  Admit(join, admission, now_ms);
  return AdmissionReply(join, admission);
}

v1::Header Coordinator::AdmissionReply(const v1::Join& join,
                                       const cluster::Membership::Admission& admission) const {
  v1::Header header;
  v1::JoinReply& reply = *header.mutable_join_reply();
  reply.set_nonce(join.nonce());
  reply.set_incarnation(admission.incarnation);
  reply.set_membership_epoch(admission.epoch);
  reply.set_run(run_);
  reply.set_wants_learned(save_.wants_learned());
  return header;
}

// The config may have patterns: what they match, the first worker says.
Status Coordinator::CheckJoin(const v1::Join& join) {
  const bool has_members = membership_.member_count() > 0;
  WEIR_RETURN_IF_ERROR(admission_.Check(join, has_members));
  if (has_members || join.file_bytes().empty()) return OkStatus();
  const cluster::Admission::Files files = cluster::Admission::FilesOf(join);
  if (director_.SetFileCounts(files.train, files.test)) return OkStatus();
  return FailedPrecondition(StrCat("it reads ", files.train, " files to train on and ", files.test,
                                   " to test on, which are not as many as the run has begun with"));
}

v1::Header Coordinator::RefuseOtherRun(const std::string& difference,
                                       const v1::RunIdentity& other) const {
  v1::Header header = RefusalHeader(difference, session::IsDamaged(other));  // it may say it again
  if (other.warm_start() != identity_.warm_start()) {
    header.mutable_refusal()->set_warm_start(identity_.warm_start());
  }
  return header;
}

v1::Header Coordinator::RefuseWhileLoading(int64_t now_ms) {
  last_waited_ms_ = now_ms;
  const LoadingBook::Slowest slowest = loading_.slowest();
  v1::Header header = RefusalHeader(
      StrCat(shards_.Name(slowest.server), " ", session::DescribeLoading(slowest.loading)), true);
  *header.mutable_refusal()->mutable_loading() = loading_.sum();
  return header;
}

// One that was to save the model has not done all.
v1::Header Coordinator::RefuseOverRun(const v1::Join& join) const {
  v1::Header over = RefusalHeader("the run is over: it has finished well", false);
  over.mutable_refusal()->set_finished_well(!join.saves() || saver_.saved());
  return over;
}

v1::Header Coordinator::RefuseTakenSeat(const v1::Join& join,
                                        const cluster::Membership::Admission& admission) {
  v1::Header taken = RefusalHeader(
      StrCat(cluster::Name({join.trainer(), join.stage()}),
             " is already running: another process answered ", admission.silent_ms,
             " ms ago; give each its own --trainer", join.stage_count() > 1 ? " and --stage" : ""),
      true);
  taken.mutable_refusal()->set_wait_ms(admission.wait_ms);
  return taken;
}

void Coordinator::Admit(const v1::Join& join, const cluster::Membership::Admission& admission,
                        int64_t now_ms) {
  const cluster::Seat seat{join.trainer(), join.stage()};
  anyone_joined_ = true;
  awaits_return_ = false;
  admission_.Take(join, membership_.member_count() == 1);
  has_admitted_ = true;
  if (admission_.stage_count() > 1) {
    director_.AwaitSettling();
    pipelines_.Join(seat, admission_.stage_count(), admission.incarnation, join.link_address(),
                    now_ms);
  }
  Desk& desk = desks_.Change(seat);
  desk.saves = join.saves();
  desk.stays = join.saves() || join.stays();
  desk.expects_model = join.saves() || join.awaits_model();
  saver_.OnJoin(std::ranges::any_of(desks_.values(),
                                    [](const auto& entry) { return entry.second.expects_model; }));
  if (desk.incarnation != admission.incarnation) TakeSeatAnew(seat, admission.incarnation);
}

void Coordinator::TakeSeatAnew(cluster::Seat seat, uint64_t incarnation) {
  director_.TakeBack(seat);
  held_.erase(seat);
  held_reports_.erase(seat);
  last_words_.Forget(seat);
  reports_.Close(seat);
  settling_.Begin(seat);
  checkpoints_.Leave(seat);
  Desk& desk = desks_.Change(seat);
  desk.incarnation = incarnation;
  desk.last_request_id = 0;
  desk.has_left = false;
  LOG(INFO) << Name(seat) << " joined as incarnation " << incarnation;
}

std::optional<v1::Header> Coordinator::OnHeartbeat(const v1::Heartbeat& heartbeat, int64_t now_ms) {
  Hearing hearing = Hear(heartbeat.speaker(), now_ms);
  if (!hearing.is_heard) return std::move(hearing.refusal);
  const cluster::Seat seat = SeatOf(heartbeat.speaker());
  v1::Header header;
  v1::HeartbeatReply& reply = *header.mutable_heartbeat_reply();
  if (failed()) reply.set_failed(failure());
  reply.set_finished_well(ended_ms_ && !failed() && (!Saves(seat) || saver_.saved()));
  if (admission_.stage_count() <= 1) return header;
  pipelines_.Adopt(seat, heartbeat.adopted_generation(), heartbeat.awaited_next());
  if (heartbeat.lost_generation() != 0) pipelines_.Renew(seat, heartbeat.lost_generation());
  pipelines_.FillView(seat.trainer, reply.mutable_pipeline());
  return header;
}

std::optional<v1::Header> Coordinator::OnWorkRequest(const v1::WorkRequest& request,
                                                     const transport::Message& message,
                                                     const transport::PeerId& peer,
                                                     int64_t now_ms) {
  Hearing hearing = Hear(request.speaker(), now_ms);
  if (!hearing.is_heard) return std::move(hearing.refusal);
  const cluster::Seat seat = SeatOf(request.speaker());
  v1::Header header;
  if (Repeat repeat = FindRepeat(seat, request.request_id()); repeat.is_one) {
    // A log that has failed may not have kept what was said then: it would be lent once more.
    if (!failed() || !repeat.reply) return std::move(repeat.reply);
    FillReply(request, seat, now_ms, header.mutable_work_reply());
    return header;
  }
  if (IsHeld(request, peer)) return std::nullopt;
  held_.erase(seat);
  if (running()) last_words_.Expect(seat);
  if (Saves(seat) && request.model_saved() && !running() && !failed()) saver_.OnSaved();
  if (request.has_learned()) save_.TakeLearned(request.learned());
  TakeWork(request, seat, message, now_ms);
  FillReply(request, seat, now_ms, header.mutable_work_reply());
  if (Hold(request, peer, header.work_reply(), now_ms)) return std::nullopt;
  Remember(seat, request.request_id(), header);
  return header;
}

Coordinator::Repeat Coordinator::FindRepeat(cluster::Seat seat, uint64_t request_id) {
  const auto desk = desks_.find(seat);
  const uint64_t last_id = desk == desks_.end() ? 0 : desk->second.last_request_id;
  if (request_id > last_id) return {};
  if (request_id < last_id || request_id == 0) return {.is_one = true, .reply = std::nullopt};
  return {.is_one = true, .reply = desk->second.last_reply};
}

std::optional<v1::Header> Coordinator::OnReport(const v1::Report& report,
                                                const transport::PeerId& peer, int64_t now_ms) {
  Hearing hearing = Hear(report.speaker(), now_ms);
  if (!hearing.is_heard) return std::move(hearing.refusal);
  const cluster::Seat seat = SeatOf(report.speaker());
  if (Repeat repeat = FindRepeat(seat, report.request_id()); repeat.is_one) {
    return std::move(repeat.reply);
  }
  TakeReport(seat, report.counted());
  if (report.is_last() && !running() && !failed()) {
    last_words_.Say(seat, now_ms);
    HeldReport& held = held_reports_[seat];
    held = {.peer = peer, .report = report};
    held.report.clear_counted();
    return std::nullopt;  // TakeHeldReplies has it, at once if nobody else is awaited
  }
  v1::Header header = ReplyToReport(report, now_ms);
  Remember(seat, report.request_id(), header);
  return header;
}

std::optional<v1::Header> Coordinator::OnLeave(const v1::Leave& leave, int64_t now_ms) {
  Hearing hearing = Hear(leave.speaker(), now_ms);
  if (!hearing.is_heard) return std::move(hearing.refusal);
  const cluster::Seat seat = SeatOf(leave.speaker());
  if (!leave.failure().empty()) TakeFailure(seat, leave);
  Dismiss(seat, now_ms);
  return std::nullopt;
}

// Of an earlier run at this address a worker may wake late; seats and incarnations are alike.
Coordinator::Hearing Coordinator::Hear(const v1::Speaker& speaker, int64_t now_ms) {
  const cluster::Seat seat = SeatOf(speaker);
  if (speaker.run() != run_) {
    return {.is_heard = false,
            .refusal = RefusalHeader(StrCat("it was restarted and knows nothing of ", Name(seat),
                                            "; start the run again, with all servers"),
                                     false)};
  }
  if (IsAfterFarewell(speaker)) return {};
  if (membership_.Heard(seat, speaker.incarnation(), now_ms)) {
    awaits_return_ = false;
    return {.is_heard = true, .refusal = {}};
  }
  return {.is_heard = false,
          .refusal = RefusalHeader(
              StrCat(Name(seat), " was silent for more than ",
                     config_.cluster().member_timeout_ms(), " ms and its work was given to others",
                     Saves(seat) && !saver_.saved() ? "; the model is not saved" : ""),
              false)};
}

bool Coordinator::Saves(cluster::Seat seat) const {
  const auto found = desks_.find(seat);
  return found != desks_.end() && found->second.saves;
}

bool Coordinator::IsAfterFarewell(const v1::Speaker& speaker) const {
  const auto found = desks_.find(SeatOf(speaker));
  return found != desks_.end() && found->second.has_left &&
         found->second.incarnation == speaker.incarnation();
}

void Coordinator::TakeFailure(cluster::Seat seat, const v1::Leave& leave) {
  std::string reason = StrCat(Name(seat), ": ", leave.failure());
  if (!running()) return TakeLateFailure(seat, std::move(reason));
  if (!leave.others_may_go_on() || Saves(seat) || !HasOtherTrainer(seat.trainer)) {
    return director_.Fail(std::move(reason));
  }
  reports_.Close(seat);
  LOG(WARNING) << reason << "; it ends, and the other trainers go on";
}

// Of a worker that was to save the model another may be started: the servers have it still.
void Coordinator::TakeLateFailure(cluster::Seat seat, std::string reason) {
  LOG(WARNING) << reason << "; the run is over";
  if (Saves(seat)) saver_.OnFailure(std::move(reason));
}

// Once all parts are on disk nobody's end keeps this server from making a model of them.
void Coordinator::Fail(std::string reason) {
  if (running()) return director_.Fail(std::move(reason));
  if (failed() || !saver_.awaits() || save_.is_whole()) return;
  if (saver_.awaits_servers()) reason += ": the model is not saved";
  saver_.Lose(std::move(reason));
}

void Coordinator::Dismiss(cluster::Seat seat, int64_t now_ms) {
  held_.erase(seat);
  held_reports_.erase(seat);
  last_words_.Forget(seat);
  Desk& desk = desks_.Change(seat);
  desk.has_left = true;
  desk.gone = "has left";
  director_.TakeBack(seat);
  membership_.Leave(seat);
  checkpoints_.Leave(seat);
  if (!running()) return;
  pipelines_.Leave(seat, now_ms);
  reports_.Close(seat);
}

void Coordinator::TakeReport(cluster::Seat seat, const v1::WorkerReport& report) {
  const Status status = reports_.Take(seat, report);
  if (status.ok()) return;
  director_.Fail(
      StrCat(Name(seat), " sent a report that does not fit the others: ", status.message()));
}

void Coordinator::TakeWork(const v1::WorkRequest& request, cluster::Seat seat,
                           const transport::Message& message, int64_t now_ms) {
  std::vector<ByteSpan> parts;
  for (size_t i = 1; i < message.parts.size(); ++i) parts.push_back(message.parts[i].span());
  if (auto scores = session::ReadAllScores(request, parts); scores.ok()) {
    run_book_.TakeWork(request, seat, *std::move(scores), now_ms);
  } else {
    director_.Fail(StrCat(Name(seat), " sent a damaged message: ", scores.status().message()));
  }
  Settle(seat, request.is_busy(), now_ms);
  run_book_.StepEvaluation(now_ms);
  checkpoints_.Take(seat, request);
  StepCheckpoints(now_ms);
}

// An evaluation waits until later stages have pushed what belongs to the chunks that are done.
void Coordinator::Settle(cluster::Seat seat, bool is_busy, int64_t now_ms) {
  const uint32_t evaluation = director_.settling();
  if (evaluation == 0) return;
  if (seat.stage > 0) settling_.Ask(seat, is_busy, evaluation);
  const auto is_awaited = [&](cluster::Seat other, const Desk&) {
    return IsAwaitedToSettle(other);
  };
  if (!HasMember(is_awaited)) director_.Settled(now_ms);
}

void Coordinator::OnWord(cluster::Seat seat, uint64_t incarnation, int64_t now_ms) {
  membership_.Heard(seat, incarnation, now_ms);
}

void Coordinator::OnOffset(cluster::Seat seat, const v1::Push& push, uint64_t step) {
  director_.Advance(seat, push.lease(), push.offset());
  if (seat.stage == 0) director_.Reach(step);
}

void Coordinator::TakeProgress(const v1::ShardReport& report) {
  report.has_loading() ? OnLoading(report.shard(), report.loading()) : OnLoaded(report.shard());
  if (report.has_part()) save_.Take(report.shard(), report.part());
  if (report.wants_checkpoint()) checkpoints_.Want();
  bounded_.Take(report.shard(), report.bounded());
}

void Coordinator::TellNews(v1::ShardReply* reply) const {
  for (v1::Departure& departure : director_.departures()) {
    *reply->add_departures() = std::move(departure);
  }
  membership_.ForEachSeat([&](cluster::Seat seat, uint64_t incarnation) {
    v1::Grant& grant = *reply->add_grants();
    grant.set_trainer(seat.trainer);
    grant.set_stage(seat.stage);
    grant.set_incarnation(incarnation);
  });
}

std::optional<v1::Header> Coordinator::OnShardReport(const v1::ShardReport& report,
                                                     int64_t now_ms) {
  const auto needs_shard = [&] { return needs_servers() || ClosesCheckpoint(now_ms); };
  ShardBook::Outcome outcome = shards_.OnReport(report, !needs_shard(), failed(), now_ms);
  const bool is_known = outcome.tells_state || !outcome.failure.empty();
  if (is_known && report.has_checkpoint()) {
    checkpoints_.TakePart(report.shard(), report.checkpoint());
  }
  if (!outcome.failure.empty()) Fail(std::move(outcome.failure));
  if (!outcome.reply) return std::nullopt;
  if (outcome.tells_state) {
    TakeProgress(report);
    outcome.reply->set_save(wants_parts());
    outcome.reply->set_state(needs_shard() ? v1::ShardReply::RUNNING
                             : failed()    ? v1::ShardReply::FAILED
                                           : v1::ShardReply::FINISHED);
    outcome.reply->set_reason(failure());
    TellNews(&*outcome.reply);
  }
  v1::Header header;
  *header.mutable_shard_reply() = *std::move(outcome.reply);
  return header;
}

// Somebody may wait who has not been heard yet.
void Coordinator::OnOwnEnd(const std::string& why, int64_t now_ms) {
  last_waited_ms_ = now_ms;
  Fail(StrCat(shards_.Name(0), " has ended: ", why));
}

bool Coordinator::HasMember(
    const std::function<bool(cluster::Seat, const Desk&)>& is_asked_for) const {
  return std::ranges::any_of(desks_.values(), [&](const auto& entry) {
    return membership_.IsMember(entry.first) && is_asked_for(entry.first, entry.second);
  });
}

bool Coordinator::HasOtherTrainer(uint32_t trainer) const {
  return HasMember(
      [&](cluster::Seat seat, const Desk&) { return seat.stage == 0 && seat.trainer != trainer; });
}

// A later stage that may still push for chunks that are finished; the work of one without a first
// stage was done again by others.
bool Coordinator::IsAwaitedToSettle(cluster::Seat seat) const {
  return seat.stage > 0 && membership_.IsMember(seat) && membership_.IsMember({seat.trainer, 0}) &&
         !settling_.HasSettled(seat, director_.settling());
}

std::string Coordinator::Names(const std::function<bool(cluster::Seat)>& is_asked_for) const {
  std::vector<std::string> names;
  for (const auto& [seat, desk] : desks_) {
    if (is_asked_for(seat)) names.push_back(Name(seat));
  }
  return StrJoin(names, ", ");
}

std::string Coordinator::DescribeGone() const {
  constexpr size_t kMost = 20;
  std::vector<std::string> names;
  for (const auto& [seat, desk] : desks_) {
    if (names.size() == kMost) break;
    names.push_back(StrCat(Name(seat), " ", desk.gone));
  }
  if (desks_.size() > kMost) names.push_back(StrCat("and ", desks_.size() - kMost, " more"));
  return StrJoin(names, ", ");
}

bool Coordinator::needs_servers() const {
  if (running()) return true;
  if (failed()) return false;
  return saver_.awaits() || HasMember([](cluster::Seat, const Desk& desk) { return desk.stays; });
}

// Who was told to wait for servers, or for a seat, asks again soon, and hears what has become of
// it.
bool Coordinator::over(int64_t now_ms) const {
  if (!ended_ms_ || ClosesCheckpoint(now_ms)) return false;
  const bool is_asked = last_waited_ms_ && *ended_ms_ - *last_waited_ms_ <= kKnockMs;
  if (is_asked && now_ms - *ended_ms_ <= kTellMs) return false;
  const bool all_left = membership_.member_count() == 0 && shards_.all_have_left();
  if (all_left || now_ms - *ended_ms_ <= kFarewellMs) return all_left;
  return !shards_.AwaitsFarewell(ServerPatienceMs(config_.cluster()), now_ms);
}

}  // namespace weir::server
