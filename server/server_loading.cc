// How a server gets its parameters while it answers those who wait for them.

#include <utility>

#include "common/base/check.h"
#include "server/server.h"

namespace weir::server {

void Server::StartLoading() {
  auto loader =
      std::make_unique<Loader>([this](LoadProgress* progress) { return MakeShard(progress); },
                               [this] { transport_->Wake(); }, options_.environment.executor);
  const bool is_prompt = loader->EndsWithin(options_.prompt_ms);
  MutexLock lock(mutex_);
  loader_ = std::move(loader);
  tells_loading_ = !is_prompt;
}

std::unique_ptr<Shard> Server::NewShard(bool awaits_load, LoadProgress* progress) {
  auto shard = std::make_unique<Shard>(config_, layout_, shard_index_, &outbox_,
                                       ShardOptions{.progress = progress,
                                                    .awaits_load = awaits_load,
                                                    .executor = options_.environment.executor});
  shard->SetLastWords(last_words_);
  return shard;
}

Loader::Made Server::MakeShard(LoadProgress* progress) {
  // What it needs, a file perhaps, goes with it.
  const auto load = std::exchange(options_.load, nullptr);
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Shard> shard,
                        life_.Restore([&] { return NewShard(true, progress); }, progress));
  if (shard == nullptr) {
    progress->Expect(options_.load_bytes);
    shard = NewShard(load != nullptr, progress);
    if (progress->is_cancelled()) return Interrupted("stopped");
    if (load) WEIR_RETURN_IF_ERROR(load(shard.get(), progress));
  }
  WEIR_RETURN_IF_ERROR(life_.Recover(config_.cluster(), Self(), shard.get(), progress));
  return shard;
}

// What the life before knew, and the log from here on.
Status Server::Recover() {
  auto recovered = life_.TakeRecovered();
  if (!recovered) return checkpoints_->Begin(run_, false);
  if (recovered->run != 0) run_ = logged_run_ = recovered->run;
  if (coordinator_ && !recovered->parts.empty()) {
    if (const auto time_ms = ControlDesk::TakeTime(&recovered->parts)) {
      clock_.GoOnFrom(*time_ms);
      next_tick_ms_ = *time_ms;
      stop_by_ms_.reset();  // it was of the time before
    }
    WEIR_RETURN_IF_ERROR(coordinator_->Load(recovered->parts, clock_.NowMs()));
    coordinator_->TryAgain();
    coordinator_->SetLivesEnded(life_.ended_count());
    for (const auto& [seat, worker] : recovered->workers) {
      coordinator_->OnOffset(seat, worker.last_push, worker.last_step);
    }
  }
  WEIR_RETURN_IF_ERROR(checkpoints_->Begin(run_, !recovered->parts.empty()));
  life_.BeginLog(&dispatcher_->log(), std::move(recovered->parts));
  dispatcher_->Restore(*std::move(recovered));
  return OkStatus();
}

// Another server learns it of server 0.
void Server::LogRun() {
  ServerLog& log = dispatcher_->log();
  if (!log.has_begun() || logged_run_ == run_) return;
  logged_run_ = run_;
  log.AddRun(logged_run_);
}

void Server::LookAtLog(int64_t now_ms) {
  ServerLog& log = dispatcher_->log();
  if (!log.failure().ok() && control_ && control_->has_kept_end()) {
    LOG(WARNING) << log.failure().message() << "; the run has finished, and needs it no more";
    log.GiveUp();
  }
  if (!log.failure().ok() && own_failure_.ok()) {
    own_failure_ = log.failure();
    if (coordinator_) coordinator_->OnOwnEnd(own_failure_.message(), now_ms);
  }
  if (!own_failure_.ok() || !log.has_begun()) return;
  const bool is_saving = saving_ && saving_->has_begun();
  const bool is_cut = checkpoints_->holds_cut() || (shard_ && dispatcher_->pulled().holds_cut());
  if (is_saving || is_cut || !life_.IsSnapshotDue(log)) return;
  life_.BeginSnapshot(Self(), shard_.get(), &log);
  dispatcher_->LogState();
  life_.FinishSnapshotBehind(log.last_number());
}

// A run may end before a server that was started again has loaded: that would begin another file.
Status Server::ClearLog() {
  {
    MutexLock lock(mutex_);
    tells_loading_ = false;
    loader_.reset();
  }
  dispatcher_->log().End();
  return life_.Clear();
}

void Server::LookAtLoader(int64_t now_ms) {
  if (!loader_) return;
  auto made = loader_->Take();
  if (made) return TakeShard(*std::move(made), now_ms);
  const v1::Loading loading = loader_->progress();
  dispatcher_->SetLoading(loading);
  if (coordinator_) coordinator_->OnLoading(0, loading);
}

void Server::TakeShard(Loader::Made made, int64_t now_ms) {
  {
    MutexLock lock(mutex_);
    tells_loading_ = false;
    loader_.reset();
  }
  own_failure_ = made.ok() ? Recover() : made.status();
  if (!own_failure_.ok()) {
    if (coordinator_) coordinator_->OnOwnEnd(own_failure_.message(), now_ms);
    return;
  }
  shard_ = *std::move(made);
  is_loaded_ = true;
  LOG(INFO) << "has its parameters";
  dispatcher_->Open(shard_.get());
  if (coordinator_) coordinator_->OnLoaded(0);
}

std::optional<v1::Loading> Server::loading() const {
  MutexLock lock(mutex_);
  if (!tells_loading_) return std::nullopt;
  return loader_->progress();
}

}  // namespace weir::server
