#include "tools/inspect/snapshot_look.h"

#include <numeric>

#include "common/base/bytes.h"
#include "common/base/strings.h"
#include "common/log/record_reader.h"
#include "tools/inspect/record_text.h"

namespace weir::tools {
namespace {

// The record that the reader is at; it is damaged where there is none.
Result<log::Record> NextOf(log::RecordReader* file, uint64_t number) {
  WEIR_ASSIGN_OR_RETURN(std::optional<log::Record> record, file->Next(number));
  if (record) return *std::move(record);
  return file->Damaged(StrCat("record ", number, " of the snapshot is damaged, or not there"));
}

Status TakeSection(const log::Record& record, SnapshotLook* look) {
  if (!record.header.has_section()) {
    return InvalidData(StrCat("a ", KindOf(record.header), ", where a section was expected"));
  }
  WEIR_ASSIGN_OR_RETURN(const uint64_t rows, CountSavedRows(record.body));
  look->row_count += rows;
  ++look->section_count;
  return OkStatus();
}

Status TakeSummary(const log::Record& record, SnapshotLook* look) {
  WEIR_ASSIGN_OR_RETURN(look->summary,
                        server::CutSummary::Decode(AsBytes(record.header.snapshot().summary())));
  const auto& counts = look->summary.row_counts;
  const uint64_t rows = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  if (rows == look->row_count) return OkStatus();
  return InvalidData(StrCat(look->row_count, " of ", rows, " rows are there"));
}

Status TakeRecord(const log::Record& record, SnapshotLook* look) {
  if (record.header.has_snapshot()) return TakeSummary(record, look);
  if (record.number > 1) return TakeSection(record, look);
  if (!record.header.has_start()) return InvalidData("it does not begin as a snapshot does");
  look->start = record.header.start();
  return OkStatus();
}

Status Look(FileSystem& files, SnapshotLook* look) {
  WEIR_ASSIGN_OR_RETURN(auto file, log::RecordReader::Open(files, look->snapshot.path));
  look->bytes = file.size();
  bool is_end = false;
  for (uint64_t number = 1; !is_end; ++number) {
    const uint64_t begin = file.offset();
    WEIR_ASSIGN_OR_RETURN(const log::Record record, NextOf(&file, number));
    is_end = record.header.has_snapshot();
    const Status status = TakeRecord(record, look);
    if (!status.ok()) {
      return InvalidData(StrCat(look->snapshot.path, " at byte ", begin, ": ", status.message()));
    }
  }
  if (file.offset() == file.size()) return OkStatus();
  return file.Damaged("bytes behind the end of the snapshot");
}

}  // namespace

SnapshotLook LookAtSnapshot(FileSystem& files, const log::Snapshot& snapshot) {
  SnapshotLook look{.snapshot = snapshot, .start = {}, .summary = {}, .status = {}};
  look.status = Look(files, &look);
  look.is_gone = look.status.code() == StatusCode::kNotFound;
  return look;
}

}  // namespace weir::tools
