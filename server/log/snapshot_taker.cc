#include "server/log/snapshot_taker.h"

#include <memory>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/log/segments.h"
#include "server/log/snapshot_file.h"

namespace weir::server {
namespace {

// The last one, and the one before it, should that be damaged.
constexpr size_t kKeptSnapshots = 2;

class SnapshotSink final : public CutSink {
 public:
  SnapshotSink(FileSystem& files, const std::string& folder, std::unique_ptr<SnapshotWriter> writer,
               uint64_t* written_bytes)
      : files_(files),
        folder_(folder),
        writer_(std::move(writer)),
        written_bytes_(*written_bytes) {}

  Status Append(Bytes section) override { return writer_->Append(std::move(section)); }
  Status Finish(const CutSummary& summary) override {
    WEIR_RETURN_IF_ERROR(writer_->Finish(summary));
    written_bytes_ = writer_->byte_count();
    return log::RemoveOld(files_, folder_, kKeptSnapshots);
  }

 private:
  FileSystem& files_;
  const std::string& folder_;
  const std::unique_ptr<SnapshotWriter> writer_;
  uint64_t& written_bytes_;
};

}  // namespace

SnapshotTaker::SnapshotTaker(const Environment& environment, std::string folder,
                             std::function<void()> wake)
    : files_(environment.files),
      folder_(std::move(folder)),
      taker_(environment.executor, std::move(wake)) {}

void SnapshotTaker::Begin(Shard* shard, uint64_t last_number, v1::LogStart of,
                          std::function<bool()> may_finish) {
  taker_.Begin(
      shard, CutForm::kBits,
      [this, last_number, of = std::move(of)]() -> Result<std::unique_ptr<CutSink>> {
        WEIR_ASSIGN_OR_RETURN(auto writer,
                              SnapshotWriter::Create(files_, folder_, last_number, of));
        return std::unique_ptr<CutSink>(
            std::make_unique<SnapshotSink>(files_, folder_, std::move(writer), &written_bytes_));
      },
      std::move(may_finish));
}

void SnapshotTaker::Step() {
  if (!is_at_work()) return;
  taker_.Step();
  if (is_at_work()) return;
  const Status& outcome = taker_.outcome();
  if (!outcome.ok()) LOG(WARNING) << "no snapshot was taken: " << outcome.message();
  if (outcome.ok()) byte_count_ = written_bytes_;
}

}  // namespace weir::server
