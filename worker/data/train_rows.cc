#include "worker/data/train_rows.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "worker/data/input_files.h"
#include "worker/data/reader.h"

namespace weir::data {
namespace {

// Beyond so many times the rows that matter, lines without one are not looked through for more.
constexpr int64_t kLinesPerRow = 4;
// At a time, whatever the chunks of training are.
constexpr int32_t kLinesAtOnce = 1024;
// As in training, where one is forgiven.
constexpr int64_t kToleratedLines = 1;

// What was read so far.
struct Counts {
  int64_t rows = 0, lines = 0, malformed = 0;
};

// Whether so many lines have no row that training cannot, or had better not, read on.
bool AreHopeless(const Counts& counts, int64_t most, double malformed_share) {
  if (counts.lines >= kLinesPerRow * most) return true;
  const auto measured = static_cast<double>(std::max(counts.lines, most));
  return counts.malformed > kToleratedLines &&
         static_cast<double>(counts.malformed) > malformed_share * measured;
}

// Adds those of a file, while there are fewer than `most` rows.
Status AddFile(Reader* reader, int32_t file, int64_t most, double malformed_share, Counts* counts) {
  RowBlock block;
  ChunkResult result;
  for (ChunkId id{.file = file}; counts->rows < most && !result.end_of_file; ++id.chunk) {
    if (AreHopeless(*counts, most, malformed_share)) {
      return InvalidData(StrCat("of the first ", counts->lines, " lines to train on ", counts->rows,
                                " have a row"));
    }
    WEIR_ASSIGN_OR_RETURN(result, reader->ReadColumns(id, {.dense = false, .ids = false}, &block));
    counts->rows += block.row_count();
    counts->lines += result.line_count;
    counts->malformed += std::ssize(block.malformed);
  }
  return OkStatus();
}

}  // namespace

Result<int64_t> CountTrainRows(const v1::Config& config, int64_t most) {
  v1::Config files = config;
  v1::DataConfig& data = *files.mutable_data();
  WEIR_ASSIGN_OR_RETURN(data, FindFiles(config.data()));
  data.set_batch_size(kLinesAtOnce);
  data.set_chunk_batches(1);
  // What columns learn changes values, not which lines have a row.
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<Reader> reader,
                        MakeReader(files, v1::LearnedColumns()));
  Counts counts;
  for (int32_t file = 0; file < reader->file_count(Split::kTrain); ++file) {
    WEIR_RETURN_IF_ERROR(
        AddFile(reader.get(), file, most, config.data().max_malformed_share(), &counts));
  }
  return std::min(counts.rows, most);
}

v1::Config FindTrainRows(const v1::Config& config) {
  v1::Config found;
  if (config.data().train_rows() > 0) return found;
  const Result<int64_t> rows = CountTrainRows(config, config::RowsThatMatter(config.data()));
  if (rows.ok()) found.mutable_data()->set_train_rows(*rows);
  return found;
}

}  // namespace weir::data
