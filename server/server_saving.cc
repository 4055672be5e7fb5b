// How a server has its part of the model saved while it answers those who are still there.

#include <utility>

#include "server/server.h"

namespace weir::server {
namespace {

// A disk that answers ends by then what it was told.
constexpr int64_t kEndSavingMs = 2000;

}  // namespace

void Server::MakeSaving(uint32_t server_count) {
  if (options_.save.empty()) return;
  saving_ = std::make_unique<Saving>(options_.save, shard_index_, server_count,
                                     options_.environment.executor, [this] { transport_->Wake(); });
  if (coordinator_) coordinator_->ServersSave(options_.learned);
}

Status Server::PrepareSaving() {
  return saving_ && coordinator_ ? saving_->Prepare(run_) : OkStatus();
}

void Server::Serve(uint64_t run) {
  run_ = run;
  if (!saving_) return;
  if (Status status = saving_->Prepare(run); !status.ok()) End(std::move(status));
}

bool Server::EndSaving() {
  const bool has_ended = checkpoints_->End(kEndSavingMs);
  return has_ended && (!saving_ || saving_->End(kEndSavingMs));
}

void Server::LookAtSaving() {
  if (!saving_) return;
  if (coordinator_ && coordinator_->wants_parts()) saving_->Ask();
  if (saving_->is_asked() && !saving_->has_begun() && shard_) {
    dispatcher_->EndTraining();
    life_.YieldCut();
    checkpoints_->YieldCut();
    dispatcher_->pulled().YieldCut();
    saving_->Begin(shard_.get());
  }
  if (coordinator_) return LookAtModel();
  if (Status status = saving_->failure(); !status.ok()) End(std::move(status));
}

void Server::Stop() {
  stopping_ = true;
  transport_->Wake();
}

void Server::StopBehindCheckpoint() { checkpoints_->StopBehind() ? transport_->Wake() : Stop(); }

void Server::LookAtModel() {
  const Status failure = saving_->failure();
  if (!failure.ok()) {
    return saving_->is_concluding() ? coordinator_->OnModelFailure(failure.message())
                                    : coordinator_->OnPartFailure(failure.message());
  }
  if (saving_->is_concluded()) return coordinator_->OnModel();
  if (const auto part = saving_->part()) coordinator_->OnPart(*part);
  if (!coordinator_->wants_model() || saving_->is_concluding()) return;
  auto manifest = coordinator_->Manifest();
  if (!manifest.ok()) return coordinator_->OnModelFailure(manifest.status().message());
  *manifest->mutable_config() = config_;
  *manifest->mutable_rule_starts() = options_.rule_starts;
  manifest->set_run(run_);
  saving_->Conclude(*std::move(manifest), nullptr,
                    [folder = options_.save] { LOG(INFO) << "the model is in " << folder; });
}

}  // namespace weir::server
