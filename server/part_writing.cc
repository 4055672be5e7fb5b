#include "server/part_writing.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "common/saved_model/parts.h"

namespace weir::server {
namespace {

// The shard's sections, one at a time.
class Sections {
 public:
  explicit Sections(Shard* shard) : shard_(shard) {}

  // Waits for its strand, which does nothing else for long.
  Result<std::shared_ptr<PendingSection>> Take(const v1::ModelPlace& place) {
    auto pending = std::make_shared<PendingSection>();
    pending->strand = place.strand();
    pending->row = place.row();
    WEIR_RETURN_IF_ERROR(shard_->PostSection(pending, &outbox_));
    shard_->HandOver();
    Await();
    outbox_.TakeAll();
    WEIR_RETURN_IF_ERROR(pending->status);
    return pending;
  }

 private:
  void Await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return std::exchange(is_there_, false); });
  }
  // While the lock is held: who waits may be gone at once.
  void Tell() {
    std::lock_guard lock(mutex_);
    is_there_ = true;
    changed_.notify_one();
  }

  Shard* const shard_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_there_ = false;
  Outbox outbox_{[this] { Tell(); }};
};

Status WriteSections(Shard* shard, saved_model::PartWriter* writer, WriteProgress* progress,
                     v1::PartReport* report) {
  Sections sections(shard);
  for (std::optional<v1::ModelPlace> place(std::in_place); place;) {
    if (progress->is_cancelled()) return Interrupted("stopped");
    WEIR_ASSIGN_OR_RETURN(const auto section, sections.Take(*place));
    WEIR_RETURN_IF_ERROR(writer->Append(section->frames));
    progress->Add(section->frames.size());
    report->set_steps(std::max(report->steps(), section->steps));
    report->set_row_steps(std::max(report->row_steps(), section->row_steps));
    place = shard->PlaceAfter(*section);
  }
  return OkStatus();
}

Result<v1::PartReport> WriteWhole(Shard* shard, const std::string& path, WriteProgress* progress) {
  WEIR_ASSIGN_OR_RETURN(const auto writer, saved_model::PartWriter::Create(path));
  v1::PartReport report;
  WEIR_RETURN_IF_ERROR(WriteSections(shard, writer.get(), progress, &report));
  WEIR_ASSIGN_OR_RETURN(const v1::SavedPart part, writer->Finish());
  report.set_written_bytes(part.bytes());
  report.set_checksum(part.checksum());
  report.set_is_done(true);
  return report;
}

}  // namespace

Result<v1::PartReport> WritePart(Shard* shard, const std::string& path, WriteProgress* progress) {
  auto report = WriteWhole(shard, path, progress);
  std::error_code ignored;
  if (!report.ok()) std::filesystem::remove(path, ignored);
  return report;
}

}  // namespace weir::server
