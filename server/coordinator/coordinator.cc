#include "server/coordinator/coordinator.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/cluster/evaluation.h"
#include "common/config/config_hash.h"
#include "common/metrics/report.h"
#include "common/metrics/warnings.h"
#include "common/session/run_identity.h"
#include "common/session/score_message.h"

namespace weir::server {
namespace {

// After the end, how long the coordinator stays for those who have not said farewell.
constexpr int64_t kFarewellMs = 5000;

// How long a stage that is lent nothing waits before it asks how the run is.
constexpr uint32_t kStageWaitMs = 50;
// And when an evaluation waits for it.
constexpr uint32_t kSettlingWaitMs = 5;

// How long the final report waits for the stages' last ones.
constexpr int64_t kLastWordsMs = 2000;

// Metrics of so many are computed at once, by the thread that answers; of more, beside it.
constexpr size_t kFewTestRows = 1'000'000;

// A shard that has not reported for so long is not there any more (it reports every second).
constexpr int64_t kShardSilenceMs = 3000;

// Who asked within so long for a seat that is taken asks again (workers do every 300 ms).
constexpr int64_t kKnockMs = 2000;

std::string StageCountText(uint32_t count) {
  return count == 1 ? "the whole model" : "one stage of it";
}

// A worker that says nothing of it has the whole model.
uint32_t StageCount(const v1::Join& join) { return std::max(1u, join.stage_count()); }

v1::Header RefusalHeader(std::string reason, bool retry) {
  v1::Header header;
  header.mutable_refusal()->set_reason(std::move(reason));
  header.mutable_refusal()->set_retry(retry);
  return header;
}

}  // namespace

Coordinator::Coordinator(const v1::Config& config, v1::RunIdentity identity, uint32_t server_count,
                         std::vector<std::string> server_addresses)
    : config_(config),
      identity_(std::move(identity)),
      server_count_(server_count),
      server_addresses_(std::move(server_addresses)),
      nonce_(RandomNonce()),
      membership_(config.cluster().member_timeout_ms()),
      director_(cluster::PlanRun(config)),
      pipelines_(nonce_) {}

v1::Header Coordinator::OnJoin(const v1::Join& join, int64_t now_ms) {
  const std::string difference = session::DescribeMismatch(identity_, join.identity());
  if (!difference.empty()) {
    return RefusalHeader(difference, session::IsDamaged(join.identity()));  // it may say it again
  }
  if (failed()) return RefusalHeader("the run has failed: " + failure(), false);
  if (!running() && !(join.saves() && awaits_saver())) {
    v1::Header over = RefusalHeader("the run is over: it has finished well", false);
    // One that was to save the model has not done all.
    over.mutable_refusal()->set_finished_well(!join.saves() || is_saved_);
    return over;
  }
  if (std::string refusal = RefuseStage(join); !refusal.empty()) {
    return RefusalHeader(std::move(refusal), false);
  }
  if (std::string refusal = RefuseFiles(join); !refusal.empty()) {
    return RefusalHeader(std::move(refusal), false);
  }
  const cluster::Seat seat{join.trainer(), join.stage()};
  const cluster::Membership::Admission admission = membership_.Join(seat, join.nonce(), now_ms);
  if (admission.incarnation == 0) {
    last_knock_ms_ = now_ms;
    v1::Header taken =
        RefusalHeader(StrCat(Name(seat), " is already running: another process answered ",
                             admission.silent_ms, " ms ago; give each its own --trainer",
                             join.stage_count() > 1 ? " and --stage" : ""),
                      true);
    taken.mutable_refusal()->set_wait_ms(config_.cluster().member_timeout_ms() + 1 -
                                         admission.silent_ms);
    return taken;
  }
  if (membership_.member_count() == 1) {  // this one alone: others are held to what it has
    file_bytes_ = {join.file_bytes().begin(), join.file_bytes().end()};
    train_file_count_ = join.train_files();
  }
  anyone_joined_ = true;
  shall_be_saved_ |= join.saves() || join.awaits_model();
  saver_missing_ms_.reset();
  stage_count_ = StageCount(join);
  if (stage_count_ > 1) {
    director_.AwaitSettling();
    pipelines_.Join(seat, stage_count_, admission.incarnation, join.link_address(), now_ms);
  }
  Desk& desk = desks_[seat];
  desk.saves = join.saves();
  desk.stays = join.saves() || join.stays();
  if (desk.incarnation != admission.incarnation) {
    director_.TakeBack(seat);
    metrics::ForgetGauges(&desk.report);
    const v1::WorkerReport reports[] = {desk.earlier.value_or(v1::WorkerReport()), desk.report};
    auto merged = metrics::MergeReports(reports);
    if (desk.incarnation != 0 && merged.ok()) desk.earlier = *std::move(merged);
    desk.incarnation = admission.incarnation;
    desk.last_request_id = 0;
    desk.asked_for = desk.settled_for = 0;
    desk.has_left = false;
    desk.report.Clear();
    LOG(INFO) << Name(seat) << " joined as incarnation " << admission.incarnation;
  }
  v1::Header header;
  v1::JoinReply& reply = *header.mutable_join_reply();
  reply.set_nonce(join.nonce());
  reply.set_incarnation(admission.incarnation);
  reply.set_membership_epoch(admission.epoch);
  reply.set_run(nonce_);
  return header;
}

// Trainers are lent chunks of files that each reads for itself: rows of a file that ends elsewhere
// at one of them would be trained by nobody.
std::string Coordinator::RefuseFiles(const v1::Join& join) {
  const auto file_count = static_cast<size_t>(join.file_bytes_size());
  const size_t train_count = join.train_files();
  if (train_count > file_count || (file_count > 0 && train_count == 0)) {
    return StrCat("it reads ", file_count, " files, ", train_count, " of them to train on");
  }
  if (membership_.member_count() == 0) return RefuseFileCounts(train_count, file_count);
  if (file_count != file_bytes_.size() || train_count != train_file_count_) {
    return StrCat("it reads ", train_count, " files to train on and ", file_count - train_count,
                  " to test on, the workers that are here ", train_file_count_, " and ",
                  file_bytes_.size() - train_file_count_);
  }
  for (size_t i = 0; i < file_count; ++i) {
    const uint64_t bytes = join.file_bytes(static_cast<int>(i));
    if (bytes == file_bytes_[i]) continue;
    const bool is_train = i < train_count;
    return StrCat(is_train ? "data.train[" : "data.test[", is_train ? i : i - train_count, "] has ",
                  bytes, " bytes here and ", file_bytes_[i],
                  " at the workers that are here: all must read the same files");
  }
  return "";
}

// The config may have patterns: what they match, the first worker says.
std::string Coordinator::RefuseFileCounts(size_t train_count, size_t file_count) {
  if (file_count == 0) return "";
  const auto test_count = static_cast<uint32_t>(file_count - train_count);
  if (director_.SetFileCounts(static_cast<uint32_t>(train_count), test_count)) return "";
  return StrCat("it reads ", train_count, " files to train on and ", test_count,
                " to test on, which are not as many as the run has begun with");
}

std::string Coordinator::RefuseStage(const v1::Join& join) const {
  const uint32_t stage_count = StageCount(join);
  const auto config_stages = static_cast<uint32_t>(config_.pipeline().split_size()) + 1;
  if (stage_count != 1 && stage_count != config_stages) {
    return StrCat("a model of ", stage_count, " stages; the config has ", config_stages);
  }
  if (join.stage() >= stage_count) {
    return StrCat("there is no stage ", join.stage(), ": the model has stages 0 to ",
                  stage_count - 1);
  }
  if (stage_count_ != 0 && stage_count != stage_count_) {
    return StrCat("the other workers of this run have ", StageCountText(stage_count_),
                  " each, this one ", StageCountText(stage_count), "; give all a --stage or none");
  }
  if (join.stage() > 0 && join.link_address().empty()) {
    return StrCat("stage ", join.stage(), " does not say where it is to be found");
  }
  return "";
}

// The first stage would hear of the end at once, the others hear when they ask next.
bool Coordinator::AwaitsStages(int64_t now_ms) {
  if (!finished_ms_) finished_ms_ = now_ms;
  if (now_ms - *finished_ms_ > kLastWordsMs) return false;
  return std::ranges::any_of(desks_, [this](const auto& entry) {
    return entry.first.stage > 0 && membership_.IsMember(entry.first) &&
           !entry.second.has_reported_end;
  });
}

void Coordinator::Settle(cluster::Seat seat, bool is_busy, int64_t now_ms) {
  const uint32_t evaluation = director_.settling();
  if (evaluation == 0) return;
  if (seat.stage > 0) {
    Desk& desk = desks_[seat];
    // What it said before it heard of this wait may be older than its last batch.
    if (desk.asked_for == evaluation && !is_busy) desk.settled_for = evaluation;
    desk.asked_for = evaluation;
  }
  const bool all_have = std::ranges::none_of(
      desks_, [&](const auto& entry) { return IsAwaitedToSettle(entry.first); });
  if (all_have) director_.Settled(now_ms);
}

// A later stage that may still push for chunks that are finished; the work of one without a first
// stage was done again by others.
bool Coordinator::IsAwaitedToSettle(cluster::Seat seat) const {
  return seat.stage > 0 && membership_.IsMember(seat) && membership_.IsMember({seat.trainer, 0}) &&
         desks_.at(seat).settled_for != director_.settling();
}

void Coordinator::CheckSettling(int64_t now_ms) {
  const uint32_t evaluation = director_.settling();
  const int64_t waited_ms = settling_.For(evaluation, now_ms);
  if (evaluation == 0 || waited_ms <= config_.cluster().join_timeout_ms()) return;
  std::vector<std::string> names;
  for (const auto& [seat, desk] : desks_) {
    if (IsAwaitedToSettle(seat)) names.push_back(Name(seat));
  }
  if (names.empty()) return director_.Settled(now_ms);  // nobody has asked since they left
  director_.Fail(StrCat(StrJoin(names, ", "), ": not done with the last batches for ", waited_ms,
                        " ms (cluster.join_timeout_ms); see what holds them up"));
}

// Whoever reads a file that does not come, say, is not silent. A worker that has to do with others,
// servers or stages, ends by itself before, and leaves its work to who can do it.
void Coordinator::CheckLeases(int64_t now_ms) {
  const uint64_t work = director_.awaited_work();
  const int64_t waited_ms = stuck_.For(work, now_ms);
  const v1::ClusterConfig& cluster = config_.cluster();
  const int64_t patience_ms = cluster.join_timeout_ms() + 2 * cluster.answer_timeout_ms();
  if (work == 0 || waited_ms <= patience_ms) return;
  std::vector<std::string> names;
  for (const auto& [seat, desk] : desks_) {
    const bool lacks_stage = stage_count_ > 1 && pipelines_.IncompleteSince(seat.trainer);
    if (director_.HasLease(seat) && !lacks_stage) names.push_back(Name(seat));
  }
  if (names.empty()) return;
  director_.Fail(StrCat(StrJoin(names, ", "), ": nothing of the work at hand was done for ",
                        waited_ms, " ms (cluster.join_timeout_ms and twice ",
                        "cluster.answer_timeout_ms), and all wait for it; see what holds it up, a ",
                        "file that cannot be read perhaps"));
}

void Coordinator::FillPipeline(const v1::WorkRequest& request, cluster::Seat seat,
                               v1::WorkReply* reply) {
  if (stage_count_ <= 1) return;
  pipelines_.Adopt(seat, request.adopted_generation(), request.awaited_next());
  if (request.lost_generation() != 0) pipelines_.Renew(seat, request.lost_generation());
  pipelines_.FillView(seat.trainer, reply->mutable_pipeline());
}

std::optional<v1::Header> Coordinator::OnWorkRequest(const v1::WorkRequest& request,
                                                     const transport::Message& message,
                                                     int64_t now_ms) {
  const cluster::Seat seat{request.trainer(), request.stage()};
  // Of an earlier run at this address a worker may wake late; seats and incarnations are alike.
  if (request.run() != nonce_) {
    return RefusalHeader(StrCat("it was restarted and knows nothing of ", Name(seat),
                                "; start the run again, with all servers"),
                         false);
  }
  if (IsAfterFarewell(seat, request)) return std::nullopt;
  if (!membership_.Heard(seat, request.incarnation(), now_ms)) {
    return RefusalHeader(
        StrCat(Name(seat), " was silent for more than ", config_.cluster().member_timeout_ms(),
               " ms and its work was given to others",
               desks_[seat].saves && !is_saved_ ? "; the model is not saved" : ""),
        false);
  }
  Desk& desk = desks_[seat];
  if (!request.failure().empty()) TakeFailure(seat, request);
  is_saved_ |= desk.saves && request.model_saved() && !running() && !failed();
  if (request.farewell() || !request.failure().empty()) {
    Dismiss(seat, now_ms);
    return std::nullopt;
  }
  const bool is_repeat = request.request_id() <= desk.last_request_id;
  if (!request.heartbeat_only() && is_repeat) {
    if (request.request_id() == desk.last_request_id) return desk.last_reply;
    return std::nullopt;
  }
  if (request.has_report()) TakeReport(seat, request.report());
  v1::Header header;
  v1::WorkReply& reply = *header.mutable_work_reply();
  reply.set_request_id(request.request_id());
  FillPipeline(request, seat, &reply);
  if (request.heartbeat_only()) {
    reply.set_wait_ms(0);
    if (failed()) FillReply(request, now_ms, &reply);
    return header;
  }
  if (Status status = TakeCompletions(request, seat, message, now_ms); !status.ok()) {
    director_.Fail(StrCat(Name(seat), " sent a damaged message: ", status.message()));
  }
  Settle(seat, request.is_busy(), now_ms);
  StepEvaluation(now_ms);
  // A later stage is given work by the one before it; a trainer that lacks a stage could not do
  // any.
  const bool is_idle = seat.stage > 0 || (stage_count_ > 1 && !pipelines_.IsReady(seat.trainer));
  if (is_idle && running()) {
    const bool is_awaited = seat.stage > 0 && desk.settled_for < director_.settling();
    reply.set_wait_ms(is_awaited ? kSettlingWaitMs : kStageWaitMs);
  } else {
    reply.MergeFrom(director_.Next(seat, now_ms));
    if (reply.has_chunk()) {
      reply.mutable_chunk()->set_generation(pipelines_.Generation(seat.trainer));
    }
    desk.has_reported_end = reply.has_finished() && !request.is_busy();
    // It asks again until its last push is taken.
    if (seat.stage > 0 && reply.has_finished() && request.is_busy()) reply.set_wait_ms(1);
    if (seat.stage == 0 && reply.has_finished() && AwaitsStages(now_ms)) reply.set_wait_ms(1);
  }
  FillReply(request, now_ms, &reply);
  desk.last_request_id = request.request_id();
  desk.last_reply = header;
  return header;
}

void Coordinator::StepEvaluation(int64_t now_ms) {
  if (std::optional<cluster::ChunkScores> scores = director_.TakeScores()) {
    if (cluster::RowCount(*scores) <= kFewTestRows) {
      return director_.Evaluated(cluster::Evaluate(*scores), now_ms);
    }
    return EvaluateBeside(*std::move(scores), now_ms);
  }
  if (!evaluation_.valid()) return;
  if (evaluation_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  director_.Evaluated(evaluation_.get(), now_ms);
}

// Detached, because a run that ends meanwhile does not wait for it; the scores are its own.
void Coordinator::EvaluateBeside(cluster::ChunkScores scores, int64_t now_ms) {
  const auto shared = std::make_shared<const cluster::ChunkScores>(std::move(scores));
  std::packaged_task<v1::EvaluationReport()> task([shared] { return cluster::Evaluate(*shared); });
  evaluation_ = task.get_future();
  try {
    std::thread(std::move(task)).detach();
  } catch (const std::system_error&) {  // no more threads are to be had: others wait meanwhile
    evaluation_ = {};
    director_.Evaluated(cluster::Evaluate(*shared), now_ms);
  }
}

void Coordinator::TakeFailure(cluster::Seat seat, const v1::WorkRequest& request) {
  std::string reason = StrCat(Name(seat), ": ", request.failure());
  if (!running()) return TakeLateFailure(seat, std::move(reason));
  if (!request.others_may_go_on() || desks_[seat].saves || !HasOtherTrainer(seat.trainer)) {
    return director_.Fail(std::move(reason));
  }
  ForgetGauges(seat);
  LOG(WARNING) << reason << "; it ends, and the other trainers go on";
}

// What was learned is lost with a worker that was to save it, if no other will.
void Coordinator::TakeLateFailure(cluster::Seat seat, std::string reason) {
  const bool has_other = std::ranges::any_of(desks_, [&](const auto& entry) {
    return entry.second.saves && entry.first != seat && membership_.IsMember(entry.first);
  });
  if (desks_[seat].saves && !has_other) return Fail(std::move(reason));
  LOG(WARNING) << reason << "; the run is over";
}

void Coordinator::Fail(std::string reason) {
  if (running()) return director_.Fail(std::move(reason));
  if (!failed() && awaits_saver()) lost_model_ = std::move(reason);
}

bool Coordinator::HasOtherTrainer(uint32_t trainer) const {
  return std::ranges::any_of(desks_, [&](const auto& entry) {
    const cluster::Seat seat = entry.first;
    return seat.stage == 0 && seat.trainer != trainer && membership_.IsMember(seat);
  });
}

bool Coordinator::IsAfterFarewell(cluster::Seat seat, const v1::WorkRequest& request) const {
  const auto found = desks_.find(seat);
  return found != desks_.end() && found->second.has_left &&
         found->second.incarnation == request.incarnation();
}

Status Coordinator::TakeCompletions(const v1::WorkRequest& request, cluster::Seat seat,
                                    const transport::Message& message, int64_t now_ms) {
  for (const v1::FileEnd& end : request.file_ends()) director_.LearnEnd(seat, end);
  size_t part = 1;  // a part of scores each, in the order of the completions that have one
  for (const v1::Completion& completion : request.completions()) {
    eval::Scores scores;
    if (completion.has_scores()) {
      if (part >= message.parts.size()) return InvalidData("scores were announced and are missing");
      WEIR_ASSIGN_OR_RETURN(scores, session::ReadScores(completion, message.parts[part++].span()));
    }
    director_.Complete(seat, completion, std::move(scores), now_ms);
  }
  if (part < message.parts.size()) return InvalidData("scores that were not announced");
  return OkStatus();
}

void Coordinator::ForgetGauges(cluster::Seat seat) {
  metrics::ForgetGauges(&desks_[seat].report);
  if (auto merged = Merge(); merged.ok()) merged_ = *std::move(merged);
}

void Coordinator::Expire(int64_t now_ms) {
  for (const cluster::Seat seat : membership_.Expire(now_ms)) {
    LOG(WARNING) << Name(seat) << " was silent for more than "
                 << config_.cluster().member_timeout_ms()
                 << (seat.stage == 0 ? " ms: its work goes to others"
                                     : " ms: its trainer waits for its return");
    desks_[seat].gone =
        StrCat("was silent for more than ", config_.cluster().member_timeout_ms(), " ms");
    director_.TakeBack(seat);
    pipelines_.Leave(seat, now_ms);
    ForgetGauges(seat);
  }
}

void Coordinator::TakeReport(cluster::Seat seat, const v1::WorkerReport& report) {
  const v1::WorkerReport previous = std::exchange(desks_[seat].report, report);
  if (auto merged = Merge(); merged.ok()) {
    merged_ = *std::move(merged);
  } else {
    desks_[seat].report = previous;
    director_.Fail(StrCat(
        Name(seat), " sent a report that does not fit the others: ", merged.status().message()));
  }
}

void Coordinator::FillReply(const v1::WorkRequest& request, int64_t now_ms,
                            v1::WorkReply* reply) const {
  if (failed()) {
    reply->set_failed(failure());
    return;
  }
  v1::RunProgress& progress = *reply->mutable_progress();
  director_.FillProgress(request.known_evaluations(), now_ms, &progress);
  *progress.mutable_merged() = merged_;
  progress.mutable_merged()->clear_staleness();
  if (reply->has_finished()) *reply->mutable_finished() = FinalReport(now_ms);
}

void Coordinator::Dismiss(cluster::Seat seat, int64_t now_ms) {
  desks_[seat].has_left = true;
  desks_[seat].gone = "has left";
  director_.TakeBack(seat);
  membership_.Leave(seat);
  if (running()) pipelines_.Leave(seat, now_ms);
}

std::optional<v1::Header> Coordinator::OnShardReport(const v1::ShardReport& report,
                                                     int64_t now_ms) {
  if (session::IsDamaged(report.identity())) return std::nullopt;  // the next one may be whole
  v1::Header header;
  v1::ShardReply& reply = *header.mutable_shard_reply();
  reply.set_run(nonce_);
  std::string refusal = RefuseShard(report);
  if (!refusal.empty()) {
    reply.set_state(v1::ShardReply::REFUSED);
    reply.set_reason(std::move(refusal));
    return header;
  }
  // A shard of an earlier run: the number in the reply tells it so.
  if (report.run() != 0 && report.run() != nonce_) {
    reply.set_state(v1::ShardReply::RUNNING);
    return header;
  }
  const auto found = shards_.find(report.shard());
  if (report.farewell()) {
    if (found != shards_.end()) found->second.has_left |= found->second.nonce == report.nonce();
    return std::nullopt;
  }
  if (!report.failure().empty()) {
    TakeShardFailure(report);
    return std::nullopt;
  }
  const bool is_another = found != shards_.end() && found->second.nonce != report.nonce();
  // Of the next run, at the same addresses: its own coordinator comes when this one has left.
  if (!needs_servers() && report.run() == 0 && (is_another || !failed())) {
    reply.set_state(v1::ShardReply::TAKEN);
    reply.set_reason(
        StrCat("a run has ended there, of which this shard ", report.shard(), " was no part"));
    return header;
  }
  if (is_another) {
    if (now_ms - found->second.heard_ms <= kShardSilenceMs) {
      reply.set_state(v1::ShardReply::TAKEN);
      reply.set_reason(StrCat("shard ", report.shard(), " is already served by another process"));
      return header;
    }
    Fail(StrCat(ServerName(report.shard()), " was restarted and has lost its parameters"));
  }
  ShardSeat& shard = shards_[report.shard()];
  shard.nonce = report.nonce();
  shard.heard_ms = now_ms;
  reply.set_state(needs_servers() ? v1::ShardReply::RUNNING
                  : failed()      ? v1::ShardReply::FAILED
                                  : v1::ShardReply::FINISHED);
  reply.set_reason(failure());
  return header;
}

// Of another process than the one that serves the shard it says nothing.
void Coordinator::TakeShardFailure(const v1::ShardReport& report) {
  const auto [found, is_new] = shards_.try_emplace(report.shard());
  if (!is_new && found->second.nonce != report.nonce()) return;
  found->second.nonce = report.nonce();
  found->second.has_left = true;
  Fail(StrCat(ServerName(report.shard()), " ", report.failure()));
}

std::string Coordinator::ServerName(uint32_t shard) const {
  if (shard >= server_addresses_.size()) return StrCat("server ", shard);
  return StrCat("server ", shard, " at ", server_addresses_[shard]);
}

std::string Coordinator::DescribeGone() const {
  std::vector<std::string> names;
  for (const auto& [seat, desk] : desks_) names.push_back(StrCat(Name(seat), " ", desk.gone));
  return StrJoin(names, ", ");
}

std::string Coordinator::RefuseShard(const v1::ShardReport& report) const {
  std::string difference = session::DescribeMismatch(identity_, report.identity());
  if (!difference.empty()) return difference;
  if (report.shard() > 0 && report.shard() < server_count_) return "";
  return StrCat("there is no shard ", report.shard(), " to be had among ", server_count_,
                " servers");
}

void Coordinator::OnWord(cluster::Seat seat, uint64_t incarnation, int64_t now_ms) {
  membership_.Heard(seat, incarnation, now_ms);
}

void Coordinator::OnOffset(cluster::Seat seat, const v1::Push& push) {
  director_.Advance(seat, push.lease(), push.offset());
}

void Coordinator::Tick(int64_t now_ms) {
  if (!started_ms_) started_ms_ = now_ms;
  Expire(now_ms);
  StepEvaluation(now_ms);
  CheckTrainers(now_ms);
  CheckSettling(now_ms);
  RevokeLeases(now_ms);
  CheckLeases(now_ms);
  if (running() && !anyone_joined_ && now_ms - *started_ms_ > config_.cluster().join_timeout_ms()) {
    director_.Fail(StrCat("no trainer joined within ", config_.cluster().join_timeout_ms(),
                          " ms (cluster.join_timeout_ms)"));
  }
  for (const auto& [index, shard] : shards_) {
    const int64_t silent_ms = now_ms - shard.heard_ms;
    if ((running() || awaits_saver()) && silent_ms > config_.cluster().member_timeout_ms()) {
      Fail(StrCat(ServerName(index), " was not heard of for ", silent_ms, " ms"));
    }
  }
  CheckSaver(now_ms);
  if (!needs_servers() && !ended_ms_) ended_ms_ = now_ms;
}

// What was learned would be gone with the servers.
void Coordinator::CheckSaver(int64_t now_ms) {
  const bool is_missing = !running() && !failed() && awaits_saver() &&
                          std::ranges::none_of(desks_, [&](const auto& entry) {
                            return entry.second.saves && membership_.IsMember(entry.first);
                          });
  if (!is_missing) return saver_missing_ms_.reset();
  const int64_t timeout_ms = config_.cluster().join_timeout_ms();
  if (!saver_missing_ms_) {
    saver_missing_ms_ = now_ms;
    LOG(WARNING) << "the run is over, and the worker with --save is not here: waiting for it for "
                 << timeout_ms << " ms (cluster.join_timeout_ms)";
  }
  if (now_ms - *saver_missing_ms_ <= timeout_ms) return;
  lost_model_ = StrCat("no worker with --save came within ", timeout_ms,
                       " ms of the end (cluster.join_timeout_ms): the model is not saved");
}

// A run without a trainer waits for one to come, or to come back, while some of its stages are
// there, or somebody waits for the seat of a process that has just been given up.
void Coordinator::CheckTrainers(int64_t now_ms) {
  if (!running() || !anyone_joined_) return;
  if (membership_.member_count() == 0) {
    if (last_knock_ms_ && now_ms - *last_knock_ms_ <= kKnockMs) return;
    return director_.Fail(StrCat("all trainers are gone: ", DescribeGone()));
  }
  const auto since_ms = pipelines_.none_complete_since_ms();
  if (since_ms && now_ms - *since_ms > config_.cluster().join_timeout_ms()) {
    director_.Fail(StrCat("no trainer has had all its stages for ", now_ms - *since_ms,
                          " ms (cluster.join_timeout_ms): ", pipelines_.DescribeMissing()));
  }
}

// Others, if there are any, go on with what a trainer was lent that has lacked a stage for long.
void Coordinator::RevokeLeases(int64_t now_ms) {
  if (!pipelines_.IsAnyReady()) return;
  for (const auto& [seat, desk] : desks_) {
    const auto since_ms = pipelines_.IncompleteSince(seat.trainer);
    if (seat.stage > 0 || !since_ms || !director_.HasLease(seat)) continue;
    const int64_t waited_ms = now_ms - *since_ms;
    if (waited_ms <= config_.cluster().member_timeout_ms()) continue;
    LOG(WARNING) << Name(seat) << " has lacked a stage for " << waited_ms
                 << " ms (cluster.member_timeout_ms): its work goes to others";
    director_.TakeBack(seat);
    pipelines_.Revoke(seat.trainer);
  }
}

bool Coordinator::needs_servers() const {
  if (running()) return true;
  if (failed()) return false;
  return awaits_saver() || std::any_of(desks_.begin(), desks_.end(), [this](const auto& entry) {
           return entry.second.stays && membership_.IsMember(entry.first);
         });
}

bool Coordinator::over(int64_t now_ms) const {
  if (!ended_ms_) return false;
  const bool all_left = membership_.member_count() == 0 && shards_.size() + 1 == server_count_ &&
                        std::all_of(shards_.begin(), shards_.end(),
                                    [](const auto& entry) { return entry.second.has_left; });
  return all_left || now_ms - *ended_ms_ > kFarewellMs;
}

Result<v1::WorkerReport> Coordinator::Merge() const {
  std::vector<v1::WorkerReport> reports;
  for (const auto& [seat, desk] : desks_) {
    reports.push_back(desk.report);
    if (desk.earlier) reports.push_back(*desk.earlier);
  }
  return metrics::MergeReports(reports);
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
  *report.mutable_total() = merged_;
  metrics::AddWarnings({.config = config_,
                        .evaluations = director_.evaluations(),
                        .goes_on = identity_.warm_start() != 0},
                       &report);
  return report;
}

}  // namespace weir::server
