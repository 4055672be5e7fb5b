// What the coordinator looks at in every tick: who is silent, and what is waited for in vain.

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "server/coordinator/coordinator.h"

namespace weir::server {

void Coordinator::Tick(int64_t now_ms) {
  if (!started_ms_) started_ms_ = now_ms;
  Expire(now_ms);
  run_book_.StepEvaluation(now_ms);
  StepCheckpoints(now_ms);
  CheckTrainers(now_ms);
  CheckSettling(now_ms);
  RevokeLeases(now_ms);
  CheckLeases(now_ms);
  CheckFirstTrainer(now_ms);
  CheckFirstRound(now_ms);
  CheckShards(now_ms);
  CheckSaving(now_ms);
  saver_.Tick(!running() && !failed(),
              HasMember([](cluster::Seat, const Desk& desk) { return desk.saves; }), now_ms);
  if (!needs_servers() && !ended_ms_) ended_ms_ = now_ms;
}

void Coordinator::Expire(int64_t now_ms) {
  const int64_t timeout_ms = config_.cluster().member_timeout_ms();
  for (const cluster::Seat seat : membership_.Expire(now_ms)) {
    LOG(WARNING) << Name(seat) << " was silent for more than " << timeout_ms
                 << (seat.stage == 0 ? " ms: its work goes to others"
                                     : " ms: its trainer waits for its return");
    desks_.Change(seat).gone = StrCat("was silent for more than ", timeout_ms, " ms");
    held_.erase(seat);
    held_reports_.erase(seat);
    last_words_.Forget(seat);
    director_.TakeBack(seat);
    checkpoints_.Leave(seat);
    pipelines_.Leave(seat, now_ms);
    reports_.Close(seat);
  }
}

// A run without a trainer waits for one to come, or to come back, while some of its stages are
// there, or somebody waits for the seat of a process that has just been given up.
void Coordinator::CheckTrainers(int64_t now_ms) {
  if (membership_.member_count() == 0 && std::exchange(awaits_return_, false)) {
    anyone_joined_ = false;
  }
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

void Coordinator::CheckFirstTrainer(int64_t now_ms) {
  const int64_t timeout_ms = config_.cluster().join_timeout_ms();
  const int64_t unchanged_ms = awaited_loading_.For(loading_.sum().done_bytes(), now_ms);
  const int64_t waited_ms = std::min(now_ms - *started_ms_, unchanged_ms);
  if (!running() || anyone_joined_ || waited_ms <= timeout_ms) return;
  director_.Fail(StrCat("no trainer joined within ", timeout_ms, " ms (cluster.join_timeout_ms)"));
}

void Coordinator::CheckFirstRound(int64_t now_ms) {
  constexpr int64_t kLongMs = 10'000;
  const auto start = director_.awaited_start();
  const int64_t waited_ms = awaited_start_.For(start ? start->present + 1 : 0, now_ms);
  if (!running() || !start || start->present == 0) return;
  const std::string what = StrCat("the first round waits for ", start->wanted,
                                  " trainers (consistency.sync.trainers), and ", start->present,
                                  start->present == 1 ? " is there" : " are there");
  if (waited_ms > kLongMs && !std::exchange(told_of_start_, true)) LOG(INFO) << what;
  const int64_t timeout_ms = config_.cluster().join_timeout_ms();
  if (waited_ms <= timeout_ms) return;
  director_.Fail(StrCat(what, " for ", timeout_ms, " ms (cluster.join_timeout_ms)"));
}

void Coordinator::CheckSettling(int64_t now_ms) {
  const uint32_t evaluation = director_.settling();
  const int64_t waited_ms = awaited_settling_.For(evaluation, now_ms);
  if (evaluation == 0 || waited_ms <= config_.cluster().join_timeout_ms()) return;
  const std::string names = Names([&](cluster::Seat seat) { return IsAwaitedToSettle(seat); });
  if (names.empty()) return director_.Settled(now_ms);  // nobody has asked since they left
  director_.Fail(StrCat(names, ": not done with the last batches for ", waited_ms,
                        " ms (cluster.join_timeout_ms); see what holds them up"));
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

// Whoever reads a file that does not come, say, is not silent. A worker that has to do with others,
// servers or stages, ends by itself before, and leaves its work to who can do it.
void Coordinator::CheckLeases(int64_t now_ms) {
  const uint64_t work = director_.awaited_work();
  const int64_t waited_ms = awaited_work_.For(work, now_ms);
  const v1::ClusterConfig& cluster = config_.cluster();
  const int64_t patience_ms = cluster.join_timeout_ms() + 2 * cluster.answer_timeout_ms();
  if (work == 0 || waited_ms <= patience_ms) return;
  const std::string names = Names([&](cluster::Seat seat) {
    const bool lacks_stage =
        admission_.stage_count() > 1 && pipelines_.IncompleteSince(seat.trainer).has_value();
    return director_.HasLease(seat) && !lacks_stage;
  });
  if (names.empty()) return;
  director_.Fail(StrCat(names, ": nothing of the work at hand was done for ", waited_ms,
                        " ms (cluster.join_timeout_ms and twice cluster.answer_timeout_ms), and "
                        "all wait for it; see what holds it up, a file that cannot be read "
                        "perhaps"));
}

void Coordinator::CheckShards(int64_t now_ms) {
  if (!running() && !saver_.awaits()) return;
  std::string silent = shards_.DescribeSilent(ServerPatienceMs(config_.cluster()), now_ms);
  if (!silent.empty()) Fail(std::move(silent));
}

}  // namespace weir::server
