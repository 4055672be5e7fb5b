#include "tests/simulation/simulated_disk.h"

#include <utility>

namespace weir::simulation {
namespace {

// Of the reads of logs, so many are spared before a byte has rotted.
constexpr uint64_t kSparedReads = 5;

}  // namespace

class SimulatedDisk::File final : public WritableFile {
 public:
  File(SimulatedDisk* disk, std::string path, std::unique_ptr<WritableFile> inner)
      : disk_(*disk), path_(std::move(path)), inner_(std::move(inner)) {}
  ~File() override { (void)WriteHeld(); }

  Status Append(std::span<const ByteSpan> parts) override {
    if (disk_.plant_ != Plant::kWritesHeldBack) return inner_->Append(parts);
    WEIR_RETURN_IF_ERROR(WriteHeld());
    for (const ByteSpan part : parts) held_.insert(held_.end(), part.begin(), part.end());
    return OkStatus();
  }

  Status Sync() override {
    disk_.on_sync_();
    WEIR_RETURN_IF_ERROR(WriteHeld());
    return disk_.Syncs(path_) ? inner_->Sync() : OkStatus();
  }

 private:
  Status WriteHeld() {
    const Bytes held = std::exchange(held_, {});
    if (held.empty()) return OkStatus();
    const ByteSpan part(held);
    return inner_->Append({&part, 1});
  }

  SimulatedDisk& disk_;
  const std::string path_;
  const std::unique_ptr<WritableFile> inner_;
  Bytes held_;
};

bool SimulatedDisk::Syncs(const std::string& path) const {
  if (plant_ == Plant::kSyncLies) return false;
  return plant_ != Plant::kSnapshotsNotSynced || path.find("snapshot-") == std::string::npos;
}

Result<std::unique_ptr<WritableFile>> SimulatedDisk::Create(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(auto inner, MemoryFiles::Create(path));
  return std::unique_ptr<WritableFile>(std::make_unique<File>(this, path, std::move(inner)));
}

Result<Bytes> SimulatedDisk::Read(const std::string& path, uint64_t offset, uint64_t byte_count) {
  WEIR_ASSIGN_OR_RETURN(Bytes bytes, MemoryFiles::Read(path, offset, byte_count));
  const bool is_old = path.find("log-") != std::string::npos && !bytes.empty();
  if (plant_ != Plant::kBytesRot || !is_old || ++reads_ % kSparedReads != 0) return bytes;
  bytes[bytes.size() / 2] ^= 1;
  return bytes;
}

Status SimulatedDisk::SyncFile(const std::string& path) {
  on_sync_();
  return Syncs(path) ? MemoryFiles::SyncFile(path) : OkStatus();
}

Status SimulatedDisk::SyncFolder(const std::string& path) {
  on_sync_();
  return plant_ == Plant::kNamesNotSynced ? OkStatus() : MemoryFiles::SyncFolder(path);
}

}  // namespace weir::simulation
