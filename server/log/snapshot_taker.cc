#include "server/log/snapshot_taker.h"

#include <utility>

#include "common/base/check.h"

namespace weir::server {
namespace {

// The last one, and the one before it, should that be damaged.
constexpr size_t kKeptSnapshots = 2;

}  // namespace

SnapshotTaker::SnapshotTaker(const Environment& environment, std::string folder,
                             std::function<void()> wake)
    : files_(environment.files),
      executor_(environment.executor),
      folder_(std::move(folder)),
      wake_(std::move(wake)),
      outbox_(wake_) {}

SnapshotTaker::~SnapshotTaker() {
  if (at_work_) at_work_->Wait();
}

void SnapshotTaker::Begin(Shard* shard, uint64_t last_number, v1::LogStart of,
                          std::function<bool()> may_finish) {
  CHECK(!is_at_work());
  cut_ = std::make_unique<ShardCut>(shard);
  may_finish_ = std::move(may_finish);
  has_all_ = is_whole_ = false;
  InBackground([this, last_number, of = std::move(of)] {
    auto writer = SnapshotWriter::Create(files_, folder_, last_number, of);
    Status status = writer.status();
    if (status.ok()) writer_ = *std::move(writer);
    return status;
  });
}

void SnapshotTaker::InBackground(std::function<Status()> work) {
  at_work_ = executor_.Begin([this, work = std::move(work)] {
    done_ = work();
    wake_();
  });
}

void SnapshotTaker::Step() {
  if (!is_at_work()) return;
  if (at_work_) {
    if (!at_work_->EndsWithin(0)) return;
    at_work_.reset();
    if (!done_.ok()) LOG(WARNING) << "no snapshot was taken: " << done_.message();
    if (!done_.ok() || is_whole_) return End();
    return Ask();
  }
  if (has_all_) return FinishIfItMay();
  for (const auto& section : outbox_.TakeAll().sections) {
    if (section->frames.empty()) return Ask();
    InBackground([this, section] { return writer_->Append(std::move(section->frames)); });
  }
}

void SnapshotTaker::Ask() {
  if (cut_->Ask(&outbox_) != nullptr) return;
  has_all_ = true;
  FinishIfItMay();
}

void SnapshotTaker::FinishIfItMay() {
  if (!may_finish_()) return;
  is_whole_ = true;
  InBackground([this] { return Finish(); });
}

Status SnapshotTaker::Finish() const {
  WEIR_RETURN_IF_ERROR(writer_->Finish(cut_->summary()));
  return log::RemoveOld(files_, folder_, kKeptSnapshots);
}

void SnapshotTaker::End() {
  if (writer_) byte_count_ = writer_->byte_count();
  writer_.reset();
  cut_.reset();
}

}  // namespace weir::server
