#include "server/server_checkpoints.h"

#include <utility>

#include "common/base/check.h"
#include "common/saved_model/checkpoint_folder.h"

namespace weir::server {
namespace {

// Whoever sends a SIGTERM waits half a minute, as a rule, before it kills.
constexpr int64_t kStopBehindMs = 20000;

}  // namespace

ServerCheckpoints::ServerCheckpoints(const v1::Config& config, const ServerOptions& options,
                                     uint32_t shard, uint32_t server_count,
                                     Coordinator* coordinator, std::function<void()> wake)
    : config_(config), options_(options), coordinator_(coordinator) {
  if (options.checkpoints.empty()) return;
  saving_.emplace(CheckpointSaving::Options{.folder = options.checkpoints,
                                            .server = shard,
                                            .server_count = server_count,
                                            .keep = static_cast<uint64_t>(config.run().keep()),
                                            .begun_with = options.warm_start,
                                            .executor = options.environment.executor,
                                            .wake = std::move(wake)});
}

Status ServerCheckpoints::Begin(uint64_t run, bool goes_on) {
  if (coordinator_ == nullptr) return OkStatus();
  if (!goes_on && !options_.resumed.empty()) {
    WEIR_RETURN_IF_ERROR(coordinator_->checkpoints().Resume(options_.resumed));
  }
  if (!saving_) {
    coordinator_->checkpoints().Skip();
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(claim_, saved_model::ClaimCheckpoints(options_.checkpoints));
  WEIR_ASSIGN_OR_RETURN(const uint64_t last, saved_model::LastCheckpoint(options_.checkpoints));
  const Checkpoints::Beginning beginning{.last_number = last,
                                         .lineage = options_.lineage == 0 ? run : options_.lineage};
  coordinator_->StartCheckpoints(beginning, options_.learned);
  return OkStatus();
}

void ServerCheckpoints::Take(uint64_t number, uint64_t run, Shard* shard) {
  if (saving_) saving_->Begin(number, run, shard);
}

void ServerCheckpoints::Step(uint64_t run) {
  if (!saving_) return;
  saving_->Step();
  if (coordinator_ != nullptr) StepWhole(run);
}

// The folder first, for what is at hand is of the one before until then; and the next one may begin
// where that ends.
void ServerCheckpoints::StepWhole(uint64_t run) {
  MakeAwaitedFolder(run);
  if (coordinator_->checkpoints().is_at_work()) StepAtWork(run);
  MakeAwaitedFolder(run);
}

void ServerCheckpoints::MakeAwaitedFolder(uint64_t run) {
  Checkpoints& of_run = coordinator_->checkpoints();
  if (const uint64_t number = of_run.awaits_folder(); number > 0) {
    const Status made = saving_->MakeFolder(number, run);
    made.ok() ? of_run.OnFolder() : of_run.Fail(made.message());
  }
}

void ServerCheckpoints::StepAtWork(uint64_t run) {
  Checkpoints& of_run = coordinator_->checkpoints();
  if (const auto part = saving_->part()) of_run.TakePart(0, *part);
  if (auto whole = of_run.TakeWhole()) {
    whole->manifest.set_run(run);
    *whole->manifest.mutable_config() = config_;
    *whole->manifest.mutable_rule_starts() = options_.rule_starts;
    *whole->manifest.mutable_learned() = coordinator_->learned().value_or(v1::LearnedColumns());
    saving_->Conclude(std::move(whole->manifest), std::move(whole->run));
  } else if (saving_->is_concluded()) {
    of_run.OnDone();
  }
}

bool ServerCheckpoints::StopBehind() {
  if (!saving_) return false;
  wants_one_ = stops_behind_ = true;
  return true;
}

bool ServerCheckpoints::LookAtWishes(int64_t now_ms) {
  if (!saving_) return false;
  if (coordinator_ != nullptr && wants_one_.exchange(false)) coordinator_->checkpoints().Want();
  if (!stops_behind_) return false;
  if (!stops_by_ms_) {
    stops_by_ms_ = now_ms + kStopBehindMs;
    const auto part = saving_->part();
    before_stop_ = part ? part->checkpoint() : 0;
    LOG(INFO) << "is to end, and waits for a checkpoint, " << kStopBehindMs << " ms at most";
  }
  return HasStopCheckpoint() || now_ms >= *stops_by_ms_;
}

// Of one that was begun since: on server 0 all of it, elsewhere this server's part.
bool ServerCheckpoints::HasStopCheckpoint() const {
  const bool is_whole = coordinator_ != nullptr && !coordinator_->checkpoints().is_at_work();
  if (coordinator_ != nullptr && coordinator_->failed()) {
    return !coordinator_->checkpoints().is_closing();
  }
  if (is_whole && !coordinator_->checkpoints().has_news()) return true;
  const auto part = saving_->part();
  const bool is_new = part && part->is_done() && part->checkpoint() > before_stop_;
  return is_new && (coordinator_ == nullptr || is_whole);
}

void ServerCheckpoints::Report(ShardReporterOptions* options) {
  if (!saving_) return;
  options->interval_ms = options->busy_interval_ms;  // a checkpoint waits for the word of it
  options->checkpoint = [this] { return saving_->part(); };
  options->wants_checkpoint = [this] { return wants_one_.exchange(false); };
}

}  // namespace weir::server
