#include "server/coordinator/shard_book.h"

#include <algorithm>
#include <utility>

#include "common/base/strings.h"
#include "common/session/run_identity.h"

namespace weir::server {
namespace {

// A shard that has not reported for so long is not there any more (it reports every second).
constexpr int64_t kSilenceMs = 3000;

}  // namespace

int64_t ServerPatienceMs(const v1::ClusterConfig& config) {
  const int64_t silence_ms = config.member_timeout_ms();
  const bool comes_back = config.durability() != v1::NONE;
  return comes_back ? std::max<int64_t>(silence_ms, config.answer_timeout_ms()) : silence_ms;
}

ShardBook::ShardBook(v1::RunIdentity identity, uint32_t server_count,
                     std::vector<std::string> addresses, uint64_t run)
    : identity_(std::move(identity)),
      server_count_(server_count),
      addresses_(std::move(addresses)),
      run_(run) {}

ShardBook::Outcome ShardBook::OnReport(const v1::ShardReport& report, bool is_over, bool has_failed,
                                       int64_t now_ms) {
  if (session::IsDamaged(report.identity())) return {};  // the next one may be whole
  if (const Status status = Check(report); !status.ok()) {
    return Replied(v1::ShardReply::REFUSED, status.message());
  }
  // A shard of an earlier run: the number in the reply tells it so.
  if (report.run() != 0 && report.run() != run_) return Replied(v1::ShardReply::RUNNING, "");
  if (report.farewell()) {
    TakeFarewell(report);
    return {};
  }
  if (!report.failure().empty()) return TakeFailure(report);
  return TakeReport(report, is_over, has_failed, now_ms);
}

Status ShardBook::Check(const v1::ShardReport& report) const {
  const std::string difference = session::DescribeMismatch(identity_, report.identity());
  if (!difference.empty()) return FailedPrecondition(difference);
  if (report.shard() == 0 || report.shard() >= server_count_) {
    return FailedPrecondition(StrCat("there is no shard ", report.shard(), " to be had among ",
                                     server_count_, " servers"));
  }
  if (report.saves() == servers_save_) return OkStatus();
  return FailedPrecondition(
      StrCat(servers_save_ ? "--save is given to server 0 and not here"
                           : "--save is given here and not to server 0",
             ": all servers of a run need it, with one folder that all of them reach, or none"));
}

void ShardBook::TakeFarewell(const v1::ShardReport& report) {
  const auto found = shards_.find(report.shard());
  if (found == shards_.end() || !found->second.IsOf(report.nonce())) return;
  shards_.Change(report.shard()).has_left = true;
}

ShardBook::Outcome ShardBook::TakeFailure(const v1::ShardReport& report) {
  const auto found = shards_.find(report.shard());
  const bool is_known = found != shards_.end();
  if (is_known && !found->second.IsOf(report.nonce())) return {};
  ShardSeat& shard = shards_.Change(report.shard());
  if (!is_known) shard.nonce = report.nonce();
  shard.has_left = true;
  Outcome outcome;
  outcome.failure = StrCat(Name(report.shard()), " ", report.failure());
  return outcome;
}

ShardBook::Outcome ShardBook::TakeReport(const v1::ShardReport& report, bool is_over,
                                         bool has_failed, int64_t now_ms) {
  const auto found = shards_.find(report.shard());
  const bool is_known = found != shards_.end();
  const bool is_another = is_known && found->second.nonce != report.nonce();
  // Of the next run, at the same addresses: its own coordinator comes when this one has left.
  if (is_over && report.run() == 0 && (is_another || (!is_known && !has_failed))) {
    return Replied(v1::ShardReply::TAKEN, StrCat("a run has ended there, of which this shard ",
                                                 report.shard(), " was no part"));
  }
  if (is_another) return TakeUsurper(report, now_ms);
  Outcome outcome = Replied(v1::ShardReply::RUNNING, "");
  outcome.tells_state = true;
  Seat(report, now_ms);
  CountLives(report);
  return outcome;
}

ShardBook::Outcome ShardBook::TakeUsurper(const v1::ShardReport& report, int64_t now_ms) {
  ShardSeat& shard = *shards_.FindUnsaved(report.shard());
  if (shard.usurper != report.nonce() && now_ms - shard.heard_ms <= kSilenceMs) {
    return Replied(v1::ShardReply::TAKEN,
                   StrCat("shard ", report.shard(), " is already served by another process"));
  }
  shard.usurper = report.nonce();
  shard.heard_ms = now_ms;
  Outcome outcome = Replied(v1::ShardReply::RUNNING, "");
  outcome.tells_state = true;
  outcome.failure =
      StrCat(Name(report.shard()),
             " was restarted and has lost its parameters; where servers keep logs, "
             "give it its --data_dir back, or empty those of all servers to begin anew");
  return outcome;
}

void ShardBook::CountLives(const v1::ShardReport& report) {
  const bool knows_run = report.run() != 0;
  const bool knew_run = shards_.find(report.shard())->second.knew_run;
  if (knows_run == knew_run) return;
  ShardSeat& shard = shards_.Change(report.shard());
  shard.knew_run = knows_run;
  if (knew_run) ++shard.lives_ended;
}

uint64_t ShardBook::restarts() const {
  uint64_t count = 0;
  for (const auto& [shard, seat] : shards_) count += seat.lives_ended;
  return count;
}

// One that had left has been started again.
void ShardBook::Seat(const v1::ShardReport& report, int64_t now_ms) {
  const auto found = shards_.find(report.shard());
  const bool is_known = found != shards_.end() && found->second.nonce == report.nonce();
  if (!is_known || found->second.has_left) {
    ShardSeat& shard = shards_.Change(report.shard());
    shard.nonce = report.nonce();
    shard.has_left = false;
  }
  shards_.FindUnsaved(report.shard())->heard_ms = now_ms;
}

ShardBook::Outcome ShardBook::Replied(v1::ShardReply::State state, std::string reason) const {
  Outcome outcome;
  outcome.reply.emplace();
  outcome.reply->set_run(run_);
  outcome.reply->set_state(state);
  outcome.reply->set_reason(std::move(reason));
  return outcome;
}

std::string ShardBook::DescribeSilent(int64_t timeout_ms, int64_t now_ms) const {
  for (const auto& [index, shard] : shards_) {
    const int64_t silent_ms = now_ms - shard.heard_ms;
    if (silent_ms <= timeout_ms) continue;
    return StrCat(Name(index), " was not heard of for ", silent_ms, " ms");
  }
  return "";
}

bool ShardBook::all_have_left() const {
  return shards_.size() + 1 == server_count_ &&
         std::ranges::all_of(shards_.values(),
                             [](const auto& entry) { return entry.second.has_left; });
}

bool ShardBook::AwaitsFarewell(int64_t patience_ms, int64_t now_ms) const {
  return std::ranges::any_of(shards_.values(), [&](const auto& entry) {
    return !entry.second.has_left && now_ms - entry.second.heard_ms <= patience_ms;
  });
}

void ShardBook::AwaitAll() {
  for (uint32_t shard = 1; shard < server_count_; ++shard) {
    const auto found = shards_.find(shard);
    if (found != shards_.end() && found->second.has_left) shards_.Change(shard).has_left = false;
  }
}

Status ShardBook::Load(cluster::PartSource* source, int64_t now_ms) {
  WEIR_RETURN_IF_ERROR(shards_.Load(source));
  for (const auto& entry : shards_) {
    if (entry.first == 0 || entry.first >= server_count_) return source->Damaged("shard");
    shards_.FindUnsaved(entry.first)->heard_ms = now_ms;
  }
  return OkStatus();
}

std::string ShardBook::Name(uint32_t server) const {
  if (server >= addresses_.size()) return StrCat("server ", server);
  return StrCat("server ", server, " at ", addresses_[server]);
}

}  // namespace weir::server
