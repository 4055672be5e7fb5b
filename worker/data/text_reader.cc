#include "worker/data/text_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "worker/data/chunk_lines.h"
#include "worker/data/chunk_place.h"
#include "worker/data/input_file.h"

namespace weir::data {
namespace {

// Malformed lines of a chunk that are described.
constexpr size_t kDescribedProblems = 5;

// Rows that a chunk gets memory for before it is read; a longer one grows.
constexpr int64_t kReservedRows = int64_t{1} << 16;

// At a time, of a split.
constexpr size_t kMostOpenFiles = 4;

// The files that were read last stay open.
class TextReader : public Reader {
 public:
  TextReader(const v1::DataConfig& data, std::unique_ptr<const TextFormat> format, Passes passes)
      : format_(std::move(format)),
        passes_(passes),
        lines_per_chunk_(int64_t{data.batch_size()} * data.chunk_batches()) {
    CHECK_GE(lines_per_chunk_, 1);
    const std::filesystem::path root = data.root();
    for (const std::string& path : data.train())
      Files(Split::kTrain).emplace_back(root / path, *format_, passes_, lines_per_chunk_);
    for (const std::string& path : data.test())
      Files(Split::kTest).emplace_back(root / path, *format_, passes_, lines_per_chunk_);
  }

  Status TryFiles() {
    WEIR_RETURN_IF_ERROR(TryFiles("data.train", Files(Split::kTrain)));
    return TryFiles("data.test", Files(Split::kTest));
  }

  Result<ChunkResult> ReadColumns(const ChunkId& chunk, const ColumnChoice& choice,
                                  RowBlock* block) override {
    WEIR_ASSIGN_OR_RETURN(const int64_t first_line,
                          FirstLine(chunk, file_count(chunk.split), lines_per_chunk_));
    block->Clear();
    block->dense_count = choice.dense ? format_->dense_count() : 0;
    block->table_count = choice.ids ? format_->table_count() : 0;
    block->Reserve(std::min(lines_per_chunk_, kReservedRows));
    InputFile& file = Files(chunk.split)[static_cast<size_t>(chunk.file)];
    ChunkResult result;
    result.end_of_file = first_line >= file.line_count();
    if (result.end_of_file) return result;
    WEIR_ASSIGN_OR_RETURN(const bool there, Seek(chunk, first_line, &file));
    if (there) WEIR_RETURN_IF_ERROR(ReadLines(&file, choice, block, &result));
    WEIR_ASSIGN_OR_RETURN(result.end_of_file, file.open().lines().AtEnd());
    WEIR_RETURN_IF_ERROR(file.CheckUnchanged());  // while it was read
    if (result.end_of_file) file.Finish();
    return result;
  }

  Result<std::optional<v1::ChunkPlace>> FindNext(const ChunkId& chunk) override {
    WEIR_ASSIGN_OR_RETURN(const int64_t first_line,
                          FirstLine(chunk, file_count(chunk.split), lines_per_chunk_));
    InputFile& file = Files(chunk.split)[static_cast<size_t>(chunk.file)];
    std::optional<v1::ChunkPlace> next;
    if (first_line + lines_per_chunk_ >= file.line_count()) return next;
    WEIR_ASSIGN_OR_RETURN(const bool there, Seek(chunk, first_line, &file));
    if (!there) return next;
    const std::optional<LinePlace> place = file.FindBehind(lines_per_chunk_);
    if (place) next = MakeChunkPlace(chunk.chunk + 1, *place);
    return next;
  }

  int64_t passed_lines() const override {
    int64_t lines = 0;
    for (const auto& files : files_) {
      for (const InputFile& file : files) lines += file.passed_lines();
    }
    return lines;
  }

  int32_t file_count(Split split) const override {
    return static_cast<int32_t>(files_[static_cast<size_t>(split)].size());
  }

 private:
  Status TryFiles(const std::string& field, std::vector<InputFile>& files) const {
    for (size_t i = 0; i < files.size(); ++i) {
      const Status status = files[i].Try();
      if (status.ok()) continue;
      return {status.code(), StrCat(field, "[", i, "]: ", status.message(), AdviceOn(status))};
    }
    return OkStatus();
  }

  const char* AdviceOn(const Status& status) const {
    if (status.code() != StatusCode::kNotFound || passes_ == Passes::kOne) return "";
    return "; correct it, or say where the files are: --override='data { root: \"FOLDER\" }'";
  }

  std::vector<InputFile>& Files(Split split) { return files_[static_cast<size_t>(split)]; }

  // False when the file ends before the chunk.
  Result<bool> Seek(const ChunkId& chunk, int64_t first_line, InputFile* file) {
    WEIR_RETURN_IF_ERROR(file->CheckUnchanged());
    WEIR_ASSIGN_OR_RETURN(const bool there, file->Seek(first_line, chunk.place));
    KeepOpen(chunk.split, file);
    return there;
  }

  // Closes the split's file that was read longest ago if many are open: others may read the rest of
  // it, and then its end is not met here. Open, each has a descriptor and a buffer.
  void KeepOpen(Split split, InputFile* file) {
    std::vector<InputFile*>& recent = recent_[static_cast<size_t>(split)];
    std::erase_if(recent, [&](const InputFile* o) { return o == file || !o->is_open(); });
    recent.push_back(file);
    if (recent.size() <= kMostOpenFiles) return;
    recent.front()->Close();
    recent.erase(recent.begin());
  }

  Status ReadLines(InputFile* file, const ColumnChoice& choice, RowBlock* block,
                   ChunkResult* result) const {
    LineReader& lines = file->open().lines();
    LineParser& parser = file->open().parser();
    if (choice.malformed != nullptr) block->malformed = *choice.malformed;
    if (choice.hash) block->hash = file->open().header_hash();
    Line line;
    for (; result->line_count < lines_per_chunk_; ++result->line_count) {
      WEIR_ASSIGN_OR_RETURN(const bool there, lines.Next(&line));
      if (!there) break;
      if (choice.hash) block->hash = Mix64(block->hash ^ HashOf(line));
      if (!parser.IsRow(line) || IsMalformed(choice, *result)) continue;
      const std::string problem = line.too_long ? TooLong() : parser.Append(line, choice, block);
      if (problem.empty()) {
        block->lines.push_back(lines.first_text_line());
        continue;
      }
      const int64_t first = lines.first_text_line(), last = lines.last_text_line();
      std::string told = StrCat(NameOf(file->path(), passes_), ":", first,
                                last > first ? StrCat("-", last) : "", ": ", problem);
      result->hidden_line_count += last - first;
      if (choice.malformed != nullptr) {
        return InvalidData(StrCat(told,
                                  "; at the first stage this line has a row, and all stages "
                                  "must read the same files"));
      }
      block->malformed.push_back(static_cast<uint32_t>(result->line_count));
      result->malformed_lines.push_back({first, last});
      if (result->problems.size() < kDescribedProblems) result->problems.push_back(std::move(told));
    }
    return OkStatus();
  }

  // Whether another found so of the line that is next.
  static bool IsMalformed(const ColumnChoice& choice, const ChunkResult& result) {
    return choice.malformed != nullptr &&
           std::ranges::binary_search(*choice.malformed, static_cast<uint32_t>(result.line_count));
  }

  const std::unique_ptr<const TextFormat> format_;
  const Passes passes_;
  const int64_t lines_per_chunk_;
  std::array<std::vector<InputFile>, 2> files_;    // by Split
  std::array<std::vector<InputFile*>, 2> recent_;  // those that are open, the one read last last
};

}  // namespace

Result<std::unique_ptr<Reader>> MakeTextReader(const v1::DataConfig& data,
                                               std::unique_ptr<const TextFormat> format,
                                               RowLabels labels) {
  const Passes passes = labels == RowLabels::kOptional ? Passes::kOne : Passes::kMany;
  auto reader = std::make_unique<TextReader>(data, std::move(format), passes);
  WEIR_RETURN_IF_ERROR(reader->TryFiles());
  return std::unique_ptr<Reader>(std::move(reader));
}

}  // namespace weir::data
