#include "server/log/snapshot_file.h"

#include <optional>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "common/log/record_reader.h"

namespace weir::server {
namespace {

// Two passes over the file: what makes the sections a whole is its last record.
class SnapshotReader {
 public:
  static Result<SnapshotReader> Open(FileSystem& files, const std::string& path) {
    WEIR_ASSIGN_OR_RETURN(log::RecordReader file, log::RecordReader::Open(files, path));
    SnapshotReader reader(std::move(file));
    WEIR_ASSIGN_OR_RETURN(const log::Record start, reader.Next());
    if (start.header.has_start()) return reader;
    return reader.file_.Damaged("it does not begin as a snapshot does");
  }

  // A section, or the last record.
  Result<log::Record> Next() {
    WEIR_ASSIGN_OR_RETURN(std::optional<log::Record> record, file_.Next(++number_));
    if (!record) return file_.Damaged("the snapshot is damaged, or was cut short");
    return *std::move(record);
  }

  Result<CutSummary> SkipToSummary() {
    while (true) {
      WEIR_ASSIGN_OR_RETURN(const log::Record record, Next());
      if (!record.header.has_snapshot()) continue;
      return CutSummary::Decode(AsBytes(record.header.snapshot().summary()));
    }
  }

  // Nothing behind the last.
  Result<std::optional<Bytes>> NextSection() {
    WEIR_ASSIGN_OR_RETURN(log::Record record, Next());
    if (!record.header.has_section()) return std::optional<Bytes>();
    return std::optional(std::move(record.body));
  }

  uint64_t size() const { return file_.size(); }
  uint64_t offset() const { return file_.offset(); }

 private:
  explicit SnapshotReader(log::RecordReader file) : file_(std::move(file)) {}

  log::RecordReader file_;
  uint64_t number_ = 0;
};

}  // namespace

Result<std::unique_ptr<SnapshotWriter>> SnapshotWriter::Create(FileSystem& files,
                                                               const std::string& folder,
                                                               uint64_t last_number,
                                                               const v1::LogStart& of) {
  std::string path = log::SnapshotPath(folder, last_number);
  WEIR_ASSIGN_OR_RETURN(auto file, files.Create(log::PartialPath(path)));
  std::unique_ptr<SnapshotWriter> writer(
      new SnapshotWriter(files, folder, std::move(path), std::move(file)));
  v1::LogRecord start;
  *start.mutable_start() = of;
  WEIR_RETURN_IF_ERROR(writer->Put(start, {}));
  return writer;
}

Status SnapshotWriter::Append(Bytes section) {
  v1::LogRecord record;
  record.mutable_section();
  const transport::Part body(std::move(section));
  return Put(record, {&body, 1});
}

Status SnapshotWriter::Finish(const CutSummary& summary) {
  v1::LogRecord record;
  const Bytes encoded = summary.Encode();
  record.mutable_snapshot()->set_summary(encoded.data(), encoded.size());
  WEIR_RETURN_IF_ERROR(Put(record, {}));
  WEIR_RETURN_IF_ERROR(file_->Sync());
  WEIR_RETURN_IF_ERROR(files_.Rename(log::PartialPath(path_), path_));
  return files_.SyncFolder(folder_);
}

Status SnapshotWriter::Put(const v1::LogRecord& record, std::span<const transport::Part> body) {
  const Bytes beginning = log::BeginRecord(++record_count_, 0, record, body);
  std::vector<ByteSpan> parts{beginning};
  for (const transport::Part& part : body) parts.push_back(part.span());
  for (const ByteSpan part : parts) byte_count_ += part.size();
  return file_->Append(parts);
}

Status ReadSnapshot(FileSystem& files, const log::Snapshot& snapshot, Shard* shard,
                    LoadProgress* progress) {
  WEIR_ASSIGN_OR_RETURN(SnapshotReader whole, SnapshotReader::Open(files, snapshot.path));
  WEIR_ASSIGN_OR_RETURN(const CutSummary summary, whole.SkipToSummary());
  progress->Expect(whole.size());
  WEIR_ASSIGN_OR_RETURN(SnapshotReader sections, SnapshotReader::Open(files, snapshot.path));
  uint64_t told_bytes = 0;
  const Status status = shard->Restore(summary, [&]() -> Result<std::optional<Bytes>> {
    if (progress->is_cancelled()) return Interrupted("stopped");
    progress->Add(sections.offset() - std::exchange(told_bytes, sections.offset()));
    return sections.NextSection();
  });
  if (status.code() != StatusCode::kInvalidData) return status;
  return InvalidData(StrCat(snapshot.path, ": ", status.message()));
}

}  // namespace weir::server
