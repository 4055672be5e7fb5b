#include "worker/data/input_file.h"

#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "worker/data/chunk_place.h"

namespace weir::data {
namespace {

// Of lines that are looked behind and read then; nothing further away is found.
constexpr size_t kMostBytesTwice = size_t{1} << 25;
static_assert(2 * kMostBytesTwice <= ByteSource::kKnownBytes);

}  // namespace

InputFile::InputFile(std::string path, const TextFormat& format, Passes passes,
                     int64_t lines_per_chunk)
    : path_(std::move(path)), format_(format), passes_(passes), lines_per_chunk_(lines_per_chunk) {}

// Nothing of a file that is not there; opening it says so.
std::optional<InputFile::State> InputFile::StateOf(const std::string& path) {
  std::error_code error;
  State state;
  state.byte_count = std::filesystem::file_size(path, error);
  if (!error) state.written = std::filesystem::last_write_time(path, error);
  if (error) return std::nullopt;
  return state;
}

Status InputFile::Try() {
  state_ = StateOf(path_);
  WEIR_RETURN_IF_ERROR(Open());
  if (!IsStream(path_, passes_)) Close();
  return OkStatus();
}

Status InputFile::CheckUnchanged() const {
  const std::optional<State> now = StateOf(path_);
  if (!now || now == state_) return OkStatus();
  return InvalidData(StrCat(path_,
                            " was changed after the run began to read it, so that rows may be "
                            "missed, or be others; start the run again, and leave its files"));
}

Status InputFile::Open() {
  WEIR_ASSIGN_OR_RETURN(open_, OpenFile::Open(path_, format_, passes_));
  return OkStatus();
}

Result<bool> InputFile::Seek(int64_t line, const std::optional<v1::ChunkPlace>& place) {
  if (!is_open()) WEIR_RETURN_IF_ERROR(Open());
  if (place && trusts_places_) WEIR_RETURN_IF_ERROR(Enter(*place, line));
  if (open_->line_count() > line) WEIR_RETURN_IF_ERROR(Open());
  const int64_t ahead = line - open_->line_count();
  WEIR_ASSIGN_OR_RETURN(const int64_t skipped, open_->lines().Skip(ahead));
  passed_lines_ += skipped;
  return skipped == ahead;
}

// Goes there if that is nearer to the line.
Status InputFile::Enter(const v1::ChunkPlace& place, int64_t line) {
  const int64_t header_lines = open_->header_lines();
  const auto to = ToLinePlace(place, lines_per_chunk_, line, header_lines);
  if (!to || !IsNearer(*to, line + header_lines, open_->lines())) return OkStatus();
  const Result<bool> is_there = open_->lines().Enter(*to);
  if (is_there.ok() && *is_there) return OkStatus();
  LOG(WARNING) << path_ << ": no line begins " << place.behind() << " bytes behind byte "
               << place.entry() << ", where another trainer has found chunk " << place.chunk()
               << "; have all the same file? This one is read without such help";
  trusts_places_ = false;
  return Open();
}

std::optional<LinePlace> InputFile::FindBehind(int64_t line_count) {
  LineReader& lines = open_->lines();
  lines.Keep(kMostBytesTwice);
  std::optional<LinePlace> place = PlaceBehind(line_count, &lines);
  lines.StartAgain();
  passed_lines_ += line_count;
  return place;
}

void InputFile::Finish() {
  line_count_ = open_->line_count();
  Close();
}

}  // namespace weir::data
