#include "server/log/server_life.h"

#include <utility>

#include "common/base/check.h"
#include "common/log/reader.h"

namespace weir::server {
namespace {

// Of the life before, where there was one that knew it.
uint64_t FormerOr(uint64_t (v1::LogStart::*field)() const, const DataFolder* folder,
                  const Environment& environment) {
  const uint64_t former = folder && folder->former() ? (*folder->former().*field)() : 0;
  return former != 0 ? former : environment.nonce();
}

}  // namespace

ServerLife::ServerLife(std::shared_ptr<DataFolder> folder, const Environment& environment)
    : folder_(std::move(folder)),
      environment_(environment),
      nonce_(FormerOr(&v1::LogStart::nonce, folder_.get(), environment)),
      epoch_(environment.nonce()),
      run_(FormerOr(&v1::LogStart::run, folder_.get(), environment)) {}

// What was only begun when the life before ended is left out.
Status ServerLife::Recover(const v1::ClusterConfig& config, const Self& self,
                           std::function<void()> on_progress, Shard* shard,
                           LoadProgress* progress) {
  if (!folder_) return OkStatus();
  recovered_.emplace();
  if (folder_->former()) {
    WEIR_ASSIGN_OR_RETURN(log::LogReader reader,
                          log::LogReader::Open(folder_->files(), folder_->path()));
    WEIR_ASSIGN_OR_RETURN(recovered_, Replay(std::move(reader), shard, progress));
    LOG(INFO) << "goes on behind record " << recovered_->next_number - 1 << " of its log, with "
              << shard->version() << " steps"
              << (recovered_->torn_bytes > 0 ? "; what was begun behind it was never promised"
                                             : "");
  }
  return Begin(config, self, std::move(on_progress));
}

Status ServerLife::Begin(const v1::ClusterConfig& config, const Self& self,
                         std::function<void()> on_progress) {
  syncs_ = config.durability() == v1::MACHINE;
  const uint64_t run = recovered_->run != 0 ? recovered_->run : self.run;
  writer_ = std::make_unique<log::LogWriter>(
      log::WriterOptions{.files = folder_->files(),
                         .clock = environment_.clock,
                         .folder = folder_->path(),
                         .syncs = syncs_,
                         .commit_interval_ms = config.commit_interval_ms(),
                         .on_progress = std::move(on_progress)},
      recovered_->next_number, folder_->StartOf(self.identity, self.shard, run, nonce_, epoch_));
  writer_->Step();  // whoever hears of this epoch finds it known in the next life
  return writer_->failure();
}

std::optional<Recovered> ServerLife::TakeRecovered() {
  return std::exchange(recovered_, std::nullopt);
}

void ServerLife::BeginLog(ServerLog* log) {
  if (!writer_) return;
  if (syncs_) writer_->Start();
  log->Begin(std::move(writer_), syncs_);
}

}  // namespace weir::server
