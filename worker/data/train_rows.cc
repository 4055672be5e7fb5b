#include "worker/data/train_rows.h"

#include <algorithm>
#include <memory>

#include "common/config/defaults.h"
#include "worker/data/input_files.h"
#include "worker/data/reader.h"

namespace weir::data {
namespace {

// Adds those of a file, while there are fewer than `most`.
Status AddFile(Reader* reader, int32_t file, int64_t most, int64_t* rows) {
  RowBlock block;
  ChunkResult result;
  for (ChunkId id{.file = file}; *rows < most && !result.end_of_file; ++id.chunk) {
    WEIR_ASSIGN_OR_RETURN(result, reader->ReadColumns(id, {.dense = false, .ids = false}, &block));
    *rows += block.row_count();
  }
  return OkStatus();
}

}  // namespace

Result<int64_t> CountTrainRows(const v1::Config& config, int64_t most) {
  v1::Config files = config;
  WEIR_ASSIGN_OR_RETURN(*files.mutable_data(), FindFiles(config.data()));
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<Reader> reader, MakeReader(files));
  int64_t rows = 0;
  for (int32_t file = 0; file < reader->file_count(Split::kTrain); ++file) {
    WEIR_RETURN_IF_ERROR(AddFile(reader.get(), file, most, &rows));
  }
  return std::min(rows, most);
}

v1::Config FindTrainRows(const v1::Config& config) {
  v1::Config found;
  if (config.data().train_rows() > 0) return found;
  const Result<int64_t> rows = CountTrainRows(config, config::RowsThatMatter(config.data()));
  if (rows.ok()) found.mutable_data()->set_train_rows(*rows);
  return found;
}

}  // namespace weir::data
