// Where rows come from: a Reader gives the rows of a chunk, wherever it lies.
//
// A chunk is a fixed number of raw lines of one file (or rows of the synthetic set), a multiple of
// the batch size; the coordinator lends chunks to trainers, so a reader is asked for increasing,
// not consecutive, chunks.
//
// Place in the life of a batch: lease -> **read -> parse** -> batch.
// Thread rule: thread-compatible; a worker has one reader thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "common/proto/learned.pb.h"
#include "common/proto/protocol.pb.h"
#include "worker/data/batch.h"

namespace weir::data {

enum class Split { kTrain, kTest };

// Whether a row without a label is malformed. Where they may miss, so may the label's column, and
// one that the config does not know is none. Rows are then to be scored, in one pass: their file
// may be a pipe, or "-", standard input.
enum class RowLabels { kRequired, kOptional };

struct ChunkId {
  Split split = Split::kTrain;
  int32_t epoch = 0;
  int32_t file = 0;   // index into data.train or data.test; 0 for synthetic
  int64_t chunk = 0;  // raw lines [chunk * lines_per_chunk, ...) of the file
  // Where it, or one before it, begins: so a reader need not go over all lines before it. One that
  // is wrong is passed over, as far as that can be told.
  std::optional<v1::ChunkPlace> place = {};
};

// Lines of a file, from 1.
struct TextLines {
  int64_t first = 0, last = 0;
};

struct ChunkResult {
  int64_t line_count = 0;  // raw lines in the chunk, malformed and blank ones included
  // Beside the first, of malformed lines in which quotes hide newlines: a quote that is not closed
  // may take many rows with it.
  int64_t hidden_line_count = 0;
  bool end_of_file = false;           // the file ends in this chunk or before it
  std::vector<std::string> problems;  // the first few malformed lines: "file:line: what is wrong"
  // Where each malformed line stands; several where quotes hide newlines.
  std::vector<TextLines> malformed_lines = {};
};

class Reader {
 public:
  virtual ~Reader() = default;

  // Reads the whole chunk into block (cleared first). Rows keep file order unless data.shuffle,
  // which permutes the rows of a training chunk, keyed by (run.seed, epoch, file, chunk). A chunk
  // past the end gives no rows and end_of_file. Fails on a file that is missing, empty or damaged,
  // naming it.
  Result<ChunkResult> ReadChunk(const ChunkId& chunk, RowBlock* block) {
    return ReadColumns(chunk, ColumnChoice(), block);
  }
  // The same of some columns; of those left out the block's count is 0. InvalidData when a line has
  // no row that has one by choice.malformed.
  virtual Result<ChunkResult> ReadColumns(const ChunkId& chunk, const ColumnChoice& choice,
                                          RowBlock* block) = 0;

  // Where the chunk behind this one begins, without reading either: the next call should be to read
  // this one. Nothing where there is no such place, or no such chunk, or it would cost too much.
  virtual Result<std::optional<v1::ChunkPlace>> FindNext(const ChunkId& /*chunk*/) {
    return std::optional<v1::ChunkPlace>();
  }
  // Lines that were gone past to come to chunks, or to find where they begin, so far.
  virtual int64_t passed_lines() const { return 0; }

  // Files of a split: the configured list, or 1 for synthetic.
  virtual int32_t file_count(Split split) const = 0;
};

// Sizes of the files of data.train, then data.test, by which workers find out that theirs are not
// the same; 0 of what has none, such as a pipe. None of synthetic rows.
std::vector<uint64_t> FileBytes(const v1::DataConfig& data);

// What the columns of the config's reader learn from its data, the same in every worker.
Result<v1::LearnedColumns> LearnFromData(const v1::Config& config);

// The reader that the config chose. learned: by LearnFromData, now or for the model that reads.
// Checks that every file is there and can be opened, so that a wrong path is reported before
// anything starts.
Result<std::unique_ptr<Reader>> MakeReader(const v1::Config& config,
                                           const v1::LearnedColumns& learned,
                                           RowLabels labels = RowLabels::kRequired);
// Learns first.
Result<std::unique_ptr<Reader>> MakeReader(const v1::Config& config);

}  // namespace weir::data
