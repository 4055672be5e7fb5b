#include "worker/data/criteo_tsv.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/divisor.h"
#include "common/base/strings.h"
#include "worker/data/chunk_lines.h"
#include "worker/data/criteo_line.h"
#include "worker/data/dense_transform.h"
#include "worker/data/line_reader.h"

namespace weir::data {
namespace {

// Malformed lines of a chunk that are described.
constexpr size_t kDescribedProblems = 5;

// Rows that a chunk gets memory for before it is read; a longer one grows.
constexpr int64_t kReservedRows = int64_t{1} << 16;

// Criteo's values have 32 bits: a table of more rows leaves them as they are.
Divisor TableSize(int64_t rows_per_table) {
  constexpr int64_t kLargest = std::numeric_limits<uint32_t>::max();
  return Divisor(static_cast<uint32_t>(std::min(rows_per_table, kLargest)));
}

class CriteoTsvReader : public Reader {
 public:
  static Result<std::unique_ptr<Reader>> Make(const v1::DataConfig& data) {
    auto reader = std::make_unique<CriteoTsvReader>(data);
    WEIR_RETURN_IF_ERROR(TryFiles("data.train", reader->Files(Split::kTrain)));
    WEIR_RETURN_IF_ERROR(TryFiles("data.test", reader->Files(Split::kTest)));
    return std::unique_ptr<Reader>(std::move(reader));
  }

  explicit CriteoTsvReader(const v1::DataConfig& data)
      : keeps_values_(data.criteo_tsv().rows_per_table() > std::numeric_limits<uint32_t>::max()),
        rows_per_table_(TableSize(data.criteo_tsv().rows_per_table())),
        lines_per_chunk_(int64_t{data.batch_size()} * data.chunk_batches()) {
    CHECK_GE(lines_per_chunk_, 1);
    const std::filesystem::path root = data.root();
    for (const std::string& path : data.train())
      Files(Split::kTrain).push_back({.path = root / path});
    for (const std::string& path : data.test())
      Files(Split::kTest).push_back({.path = root / path});
  }

  Result<ChunkResult> ReadChunk(const ChunkId& chunk, RowBlock* block) override {
    WEIR_ASSIGN_OR_RETURN(const int64_t first_line,
                          FirstLine(chunk, file_count(chunk.split), lines_per_chunk_));
    block->Clear();
    block->dense_count = static_cast<int32_t>(kCriteoDenseCount);
    block->table_count = static_cast<int32_t>(kCriteoTableCount);
    block->Reserve(std::min(lines_per_chunk_, kReservedRows));
    InputFile& file = Files(chunk.split)[static_cast<size_t>(chunk.file)];
    ChunkResult result;
    result.end_of_file = first_line >= file.line_count;
    if (result.end_of_file) return result;
    WEIR_ASSIGN_OR_RETURN(const bool there, Seek(first_line, &file));
    if (there) WEIR_RETURN_IF_ERROR(ReadLines(file, block, &result));
    WEIR_ASSIGN_OR_RETURN(result.end_of_file, file.lines->AtEnd());
    if (result.end_of_file) Finish(&file);
    return result;
  }

  int32_t file_count(Split split) const override {
    return static_cast<int32_t>(files_[static_cast<size_t>(split)].size());
  }

 private:
  struct InputFile {
    std::string path;
    std::unique_ptr<LineReader> lines = nullptr;  // null when not being read
    // Known once the end was met.
    int64_t line_count = std::numeric_limits<int64_t>::max();
  };

  static Status TryFiles(const std::string& field, const std::vector<InputFile>& files) {
    for (size_t i = 0; i < files.size(); ++i) {
      const Status status = LineReader::Open(files[i].path).status();
      if (status.ok()) continue;
      const char* advice =
          status.code() == StatusCode::kNotFound ? "; correct it or data.root" : "";
      return {status.code(), StrCat(field, "[", i, "]: ", status.message(), advice)};
    }
    return OkStatus();
  }

  std::vector<InputFile>& Files(Split split) { return files_[static_cast<size_t>(split)]; }

  // Puts the file at a line, counted from 0. False when it ends before.
  static Result<bool> Seek(int64_t line, InputFile* file) {
    if (file->lines == nullptr || file->lines->line_count() > line) {
      WEIR_ASSIGN_OR_RETURN(file->lines, LineReader::Open(file->path));
    }
    const int64_t ahead = line - file->lines->line_count();
    WEIR_ASSIGN_OR_RETURN(const int64_t skipped, file->lines->Skip(ahead));
    return skipped == ahead;
  }

  // Gives the buffer back: of many files, few are open at a time.
  static void Finish(InputFile* file) {
    file->line_count = file->lines->line_count();
    file->lines.reset();
  }

  Status ReadLines(const InputFile& file, RowBlock* block, ChunkResult* result) const {
    Line line;
    CriteoFields fields;
    for (; result->line_count < lines_per_chunk_; ++result->line_count) {
      WEIR_ASSIGN_OR_RETURN(const bool there, file.lines->Next(&line));
      if (!there) break;
      const std::string problem = ParseCriteoLine(line, &fields);
      if (problem.empty()) {
        AppendRow(fields, block);
      } else {
        ++result->malformed_count;
        Describe(file, problem, result);
      }
    }
    return OkStatus();
  }

  void AppendRow(const CriteoFields& fields, RowBlock* block) const {
    std::array<float, kCriteoDenseCount> dense;
    LogCounts(fields.integers, dense);
    std::array<uint64_t, kCriteoTableCount> ids;
    for (size_t i = 0; i < kCriteoTableCount; ++i) {
      const uint32_t value = fields.categoricals[i];
      ids[i] = keeps_values_ ? value : rows_per_table_.Remainder(value);
    }
    block->labels.push_back(fields.clicked ? 1.0f : 0.0f);
    block->dense.insert(block->dense.end(), dense.begin(), dense.end());
    block->ids.insert(block->ids.end(), ids.begin(), ids.end());
  }

  static void Describe(const InputFile& file, const std::string& problem, ChunkResult* result) {
    if (result->problems.size() >= kDescribedProblems) return;
    result->problems.push_back(StrCat(file.path, ":", file.lines->line_count(), ": ", problem));
  }

  const bool keeps_values_;
  const Divisor rows_per_table_;
  const int64_t lines_per_chunk_;
  std::array<std::vector<InputFile>, 2> files_;  // by Split
};

}  // namespace

Result<std::unique_ptr<Reader>> MakeCriteoTsvReader(const v1::Config& config) {
  return CriteoTsvReader::Make(config.data());
}

}  // namespace weir::data
