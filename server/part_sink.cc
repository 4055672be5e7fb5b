#include "server/part_sink.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace weir::server {

Result<std::unique_ptr<CutSink>> PartSink::Open(Part part) {
  WEIR_ASSIGN_OR_RETURN(auto writer, saved_model::PartWriter::Create(part.path));
  return std::unique_ptr<CutSink>(new PartSink(std::move(part), std::move(writer)));
}

PartSink::~PartSink() {
  std::error_code ignored;
  if (!is_finished_) std::filesystem::remove(part_.path, ignored);
}

Status PartSink::Append(Bytes section) {
  WEIR_RETURN_IF_ERROR(writer_->Append(section));
  *part_.written_bytes += section.size();
  return OkStatus();
}

Status PartSink::Finish(const CutSummary& summary) {
  WEIR_ASSIGN_OR_RETURN(const v1::SavedPart written, writer_->Finish());
  is_finished_ = true;
  v1::PartReport report;
  report.set_written_bytes(written.bytes());
  report.set_checksum(written.checksum());
  report.set_steps(std::ranges::max(summary.versions));
  report.set_row_steps(summary.versions[part_.row_stage]);
  report.set_is_done(true);
  part_.on_done(std::move(report));
  return OkStatus();
}

}  // namespace weir::server
