#include "worker/data/line_reader.h"

#include <cstring>
#include <filesystem>
#include <utility>

#include "common/base/strings.h"

namespace weir::data {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;
Status CheckIsFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return NotFound(StrCat(path, ": no such file"));
  }
  if (error) return NotFound(StrCat(path, " cannot be reached: ", error.message()));
  if (std::filesystem::is_directory(status)) {
    return NotFound(StrCat(path, " is a directory; name the files in it"));
  }
  // A pipe gives its bytes once, and a file may be opened several times.
  if (!std::filesystem::is_regular_file(status)) {
    return NotFound(StrCat(path, " is a device or a pipe; name a regular file"));
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<LineReader>> LineReader::Open(const std::string& path) {
  WEIR_RETURN_IF_ERROR(CheckIsFile(path));
  WEIR_ASSIGN_OR_RETURN(auto source, ByteSource::Open(path));
  std::unique_ptr<LineReader> reader(new LineReader(std::move(source)));
  WEIR_ASSIGN_OR_RETURN(const bool empty, reader->AtEnd());
  if (empty) return InvalidData(StrCat(path, " is empty"));
  return reader;
}

LineReader::LineReader(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), buffer_(kMaxLineBytes + kReadBytes) {}

Result<bool> LineReader::Next(Line* line) {
  *line = {};
  size_t searched = 0;  // bytes from begin_ on that hold no newline
  while (true) {
    const char* first = buffer_.data() + begin_;
    const size_t size = end_ - begin_;
    const void* newline = std::memchr(first + searched, '\n', size - searched);
    if (newline != nullptr) {
      *line = Take(static_cast<size_t>(static_cast<const char*>(newline) - first));
      ++begin_;
      return true;
    }
    if (size > kMaxLineBytes) {
      *line = Take(size);
      // Its end is still ahead, and counted above.
      return SkipLineEnd();
    }
    searched = size;
    WEIR_ASSIGN_OR_RETURN(const bool more, Fill());
    if (more) continue;
    if (size > 0) *line = Take(size);
    return size > 0;
  }
}

Line LineReader::Take(size_t length) {
  std::string_view text(buffer_.data() + begin_, length);
  begin_ += length;
  ++line_count_;
  if (length > kMaxLineBytes) return {{}, true};
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return {text, false};
}

Result<bool> LineReader::SkipLineEnd() {
  const int64_t counted = line_count_;
  WEIR_RETURN_IF_ERROR(Skip(1).status());
  line_count_ = counted;
  return true;
}

Result<int64_t> LineReader::Skip(int64_t count) {
  int64_t skipped = 0;
  bool inside = false;  // the bytes since the last newline
  while (skipped < count) {
    if (begin_ == end_) {
      WEIR_ASSIGN_OR_RETURN(const bool more, Fill());
      if (!more) break;
    }
    const char* first = buffer_.data() + begin_;
    const void* newline = std::memchr(first, '\n', end_ - begin_);
    inside = newline == nullptr;
    begin_ =
        inside ? end_ : begin_ + static_cast<size_t>(static_cast<const char*>(newline) - first) + 1;
    skipped += inside ? 0 : 1;
  }
  if (inside && skipped < count) ++skipped;
  line_count_ += skipped;
  return skipped;
}

Result<bool> LineReader::AtEnd() {
  if (begin_ < end_) return false;
  WEIR_ASSIGN_OR_RETURN(const bool more, Fill());
  return !more;
}

Result<bool> LineReader::Fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  WEIR_ASSIGN_OR_RETURN(const size_t read, source_->Read(buffer_.data() + end_, kReadBytes));
  end_ += read;
  return read > 0;
}

}  // namespace weir::data
