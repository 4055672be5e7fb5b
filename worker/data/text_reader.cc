#include "worker/data/text_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "worker/data/chunk_lines.h"
#include "worker/data/open_file.h"

namespace weir::data {
namespace {

// Malformed lines of a chunk that are described.
constexpr size_t kDescribedProblems = 5;

// Rows that a chunk gets memory for before it is read; a longer one grows.
constexpr int64_t kReservedRows = int64_t{1} << 16;

// At a time, of a split.
constexpr size_t kMostOpenFiles = 4;

// What tells a file from another that was put in its place, or from itself after a change.
struct FileState {
  uintmax_t byte_count = 0;
  std::filesystem::file_time_type written = {};

  bool operator==(const FileState&) const = default;
};

// Nothing of a file that is not there; opening it says so.
std::optional<FileState> StateOf(const std::string& path) {
  std::error_code error;
  FileState state;
  state.byte_count = std::filesystem::file_size(path, error);
  if (!error) state.written = std::filesystem::last_write_time(path, error);
  if (error) return std::nullopt;
  return state;
}

// The files that were read last stay open at their places, so increasing chunks cost one pass;
// going back opens a file again.
class TextReader : public Reader {
 public:
  TextReader(const v1::DataConfig& data, std::unique_ptr<const TextFormat> format, Passes passes)
      : format_(std::move(format)),
        passes_(passes),
        lines_per_chunk_(int64_t{data.batch_size()} * data.chunk_batches()) {
    CHECK_GE(lines_per_chunk_, 1);
    const std::filesystem::path root = data.root();
    for (const std::string& path : data.train())
      Files(Split::kTrain).push_back({.path = root / path});
    for (const std::string& path : data.test())
      Files(Split::kTest).push_back({.path = root / path});
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
    result.end_of_file = first_line >= file.line_count;
    if (result.end_of_file) return result;
    WEIR_RETURN_IF_ERROR(CheckUnchanged(file));
    WEIR_ASSIGN_OR_RETURN(const bool there, Seek(first_line, &file));
    KeepOpen(chunk.split, &file);
    if (there) WEIR_RETURN_IF_ERROR(ReadLines(&file, choice, block, &result));
    WEIR_ASSIGN_OR_RETURN(result.end_of_file, file.open->lines().AtEnd());
    WEIR_RETURN_IF_ERROR(CheckUnchanged(file));  // while it was read
    if (result.end_of_file) Finish(&file);
    return result;
  }

  int32_t file_count(Split split) const override {
    return static_cast<int32_t>(files_[static_cast<size_t>(split)].size());
  }

 private:
  struct InputFile {
    std::string path;
    std::optional<FileState> state = {};       // when the run began
    std::unique_ptr<OpenFile> open = nullptr;  // null when not being read
    // Known once the end was met.
    int64_t line_count = std::numeric_limits<int64_t>::max();
  };

  Status TryFiles(const std::string& field, std::vector<InputFile>& files) const {
    for (size_t i = 0; i < files.size(); ++i) {
      InputFile& file = files[i];
      file.state = StateOf(file.path);
      auto opened = OpenFile::Open(file.path, *format_, passes_);
      if (!opened.ok()) {
        const Status& status = opened.status();
        return {status.code(), StrCat(field, "[", i, "]: ", status.message(), AdviceOn(status))};
      }
      if (IsStream(file.path, passes_)) file.open = *std::move(opened);
    }
    return OkStatus();
  }

  const char* AdviceOn(const Status& status) const {
    if (status.code() != StatusCode::kNotFound || passes_ == Passes::kOne) return "";
    return "; correct it, or say where the files are: --override='data { root: \"FOLDER\" }'";
  }

  // Chunks are lines counted from the file's beginning, and columns are those of its header.
  static Status CheckUnchanged(const InputFile& file) {
    const std::optional<FileState> now = StateOf(file.path);
    if (!now || now == file.state) return OkStatus();
    return InvalidData(StrCat(file.path,
                              " was changed after the run began to read it, so that rows may be "
                              "missed, or be others; start the run again, and leave its files"));
  }

  std::vector<InputFile>& Files(Split split) { return files_[static_cast<size_t>(split)]; }

  // Puts the file at a line, counted from 0. False when it ends before.
  Result<bool> Seek(int64_t line, InputFile* file) const {
    if (file->open == nullptr || file->open->line_count() > line) {
      WEIR_ASSIGN_OR_RETURN(file->open, OpenFile::Open(file->path, *format_, passes_));
    }
    const int64_t ahead = line - file->open->line_count();
    WEIR_ASSIGN_OR_RETURN(const int64_t skipped, file->open->lines().Skip(ahead));
    return skipped == ahead;
  }

  static void Finish(InputFile* file) {
    file->line_count = file->open->line_count();
    file->open.reset();
  }

  // Closes the split's file that was read longest ago if many are open: others may read the rest of
  // it, and then its end is not met here. Open, each has a descriptor and a buffer.
  void KeepOpen(Split split, InputFile* file) {
    std::vector<InputFile*>& recent = recent_[static_cast<size_t>(split)];
    std::erase_if(recent, [&](const InputFile* o) { return o == file || o->open == nullptr; });
    recent.push_back(file);
    if (recent.size() <= kMostOpenFiles) return;
    recent.front()->open.reset();
    recent.erase(recent.begin());
  }

  Status ReadLines(InputFile* file, const ColumnChoice& choice, RowBlock* block,
                   ChunkResult* result) const {
    LineReader& lines = file->open->lines();
    LineParser& parser = file->open->parser();
    if (choice.malformed != nullptr) block->malformed = *choice.malformed;
    if (choice.hash) block->hash = file->open->header_hash();
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
      std::string told = StrCat(NameOf(file->path, passes_), ":", first,
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
