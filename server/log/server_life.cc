#include "server/log/server_life.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/log/reader.h"
#include "server/log/snapshot_file.h"

namespace weir::server {
namespace {

// Of the life before, where there was one that knew it.
uint64_t FormerOr(uint64_t (v1::LogStart::*field)() const, const DataFolder* folder,
                  const Environment& environment) {
  const uint64_t former = folder && folder->former() ? (*folder->former().*field)() : 0;
  return former != 0 ? former : environment.nonce();
}

}  // namespace

ServerLife::ServerLife(std::shared_ptr<DataFolder> folder, const Environment& environment,
                       std::function<void()> wake, const SnapshotRule& rule)
    : folder_(std::move(folder)),
      environment_(environment),
      wake_(std::move(wake)),
      rule_(rule),
      nonce_(FormerOr(&v1::LogStart::nonce, folder_.get(), environment)),
      epoch_(environment.nonce()),
      run_(FormerOr(&v1::LogStart::run, folder_.get(), environment)) {}

Result<std::unique_ptr<Shard>> ServerLife::Restore(const MakeShard& make, LoadProgress* progress) {
  std::unique_ptr<Shard> shard;
  if (!folder_) return shard;
  WEIR_ASSIGN_OR_RETURN(const auto snapshots,
                        log::FindSnapshots(folder_->files(), folder_->path()));
  if (!snapshots.empty() && !folder_->former()) {
    return InvalidData(StrCat(folder_->path(),
                              " has snapshots, and no log that says whose; remove ",
                              "it to begin anew"));
  }
  if (!snapshots.empty()) WEIR_RETURN_IF_ERROR(CheckLogBehind(snapshots.back()));
  for (auto snapshot = snapshots.rbegin(); snapshot != snapshots.rend(); ++snapshot) {
    shard = make();
    const Status status = RestoreFrom(*snapshot, shard.get(), progress);
    if (status.ok()) return shard;
    if (status.code() != StatusCode::kInvalidData) return status;
    LOG(WARNING) << status.message() << "; the snapshot before it is used, if there is one";
    shard.reset();
  }
  return shard;
}

// It began before the snapshot was written, and has what was promised since.
Status ServerLife::CheckLogBehind(const log::Snapshot& newest) const {
  const std::string behind = log::SegmentPath(folder_->path(), newest.last_number + 1);
  if (folder_->files().Size(behind).ok()) return OkStatus();
  return InvalidData(StrCat("the file of the log that begins with record ", newest.last_number + 1,
                            ", ", behind, ", is not there: bring it back, or remove ",
                            folder_->path(), " and those of all other servers to begin anew"));
}

// What is known of workers and of the run is in the file of the log behind it.
Status ServerLife::RestoreFrom(const log::Snapshot& snapshot, Shard* shard,
                               LoadProgress* progress) {
  const uint64_t next = snapshot.last_number + 1;
  const std::string behind = log::SegmentPath(folder_->path(), next);
  if (!folder_->files().Size(behind).ok()) {
    return InvalidData(StrCat(snapshot.path, ": ", behind, " is not there"));
  }
  WEIR_RETURN_IF_ERROR(ReadSnapshot(folder_->files(), snapshot, shard, progress));
  first_number_ = next;
  return OkStatus();
}

Status ServerLife::Recover(const v1::ClusterConfig& config, const Self& self, Shard* shard,
                           LoadProgress* progress) {
  if (!folder_) return OkStatus();
  recovered_.emplace();
  if (folder_->former()) WEIR_RETURN_IF_ERROR(Replay(shard, progress));
  return Begin(config, self);
}

// What was only begun when the life before ended is left out.
Status ServerLife::Replay(Shard* shard, LoadProgress* progress) {
  WEIR_ASSIGN_OR_RETURN(log::LogReader reader,
                        log::LogReader::Open(folder_->files(), folder_->path(), first_number_));
  WEIR_ASSIGN_OR_RETURN(recovered_, server::Replay(std::move(reader), shard, progress));
  LOG(INFO) << "goes on behind record " << recovered_->next_number - 1 << " of its log, "
            << recovered_->next_number - first_number_ << " of them behind a snapshot, with "
            << shard->version() << " steps"
            << (recovered_->torn_bytes > 0 ? "; what was begun behind it was never promised" : "");
  return OkStatus();
}

v1::LogStart ServerLife::StartOf(const Self& self) const {
  return folder_->StartOf(self.identity, self.shard, self.run, nonce_, epoch_);
}

Status ServerLife::Begin(const v1::ClusterConfig& config, const Self& self) {
  syncs_ = config.durability() == v1::MACHINE;
  Self known = self;
  if (recovered_->run != 0) known.run = recovered_->run;
  writer_ = std::make_unique<log::LogWriter>(
      log::WriterOptions{.files = folder_->files(),
                         .clock = environment_.clock,
                         .folder = folder_->path(),
                         .syncs = syncs_,
                         .commit_interval_ms = config.commit_interval_ms(),
                         .on_progress = wake_},
      recovered_->next_number, StartOf(known));
  writer_->Step();  // whoever hears of this epoch finds it known in the next life
  return writer_->failure();
}

std::optional<Recovered> ServerLife::TakeRecovered() {
  return std::exchange(recovered_, std::nullopt);
}

void ServerLife::BeginLog(ServerLog* log, cluster::PartMap parts) {
  if (!writer_) return;
  const bool has_thread = syncs_ && environment_.executor.has_threads();
  if (has_thread) writer_->Start();
  log->Begin(std::move(writer_), {.syncs = syncs_, .has_thread = has_thread}, std::move(parts));
  taker_ = std::make_unique<SnapshotTaker>(environment_, folder_->path(), wake_);
}

bool ServerLife::IsSnapshotDue(const ServerLog& log) const {
  if (!taker_ || taker_->is_at_work()) return false;
  const double share = rule_.least_share * static_cast<double>(taker_->byte_count());
  return log.file_bytes() >= std::max(rule_.least_log_bytes, static_cast<uint64_t>(share));
}

void ServerLife::BeginSnapshot(const Self& self, Shard* shard, ServerLog* log) {
  const uint64_t last_number = log->last_number();
  log->Cut(StartOf(self));
  finish_behind_ = UINT64_MAX;
  taker_->Begin(shard, last_number, StartOf(self),
                [this, log] { return log->durable_number() >= finish_behind_; });
}

}  // namespace weir::server
