#include "server/part_sink.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/base/file_writer.h"

namespace weir::server {

Result<std::unique_ptr<CutSink>> PartSink::Open(Part part) {
  const std::string folder = std::filesystem::path(part.path).parent_path().string();
  WEIR_RETURN_IF_ERROR(CheckRoom(folder, "this server's part of the model", part.least_bytes));
  WEIR_ASSIGN_OR_RETURN(auto writer, saved_model::PartWriter::Create(part.path));
  return std::unique_ptr<CutSink>(new PartSink(std::move(part), std::move(writer)));
}

uint64_t PartSink::LeastBytes(const Shard& shard) {
  int64_t elements = shard.row_count() * shard.layout().embedding_dimension();
  for (const auto& strand : shard.dense_strands()) elements += strand->piece().spec().element_count;
  return static_cast<uint64_t>(elements) * sizeof(float);
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
