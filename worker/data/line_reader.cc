#include "worker/data/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/strings.h"
#include "worker/data/other_formats.h"

namespace weir::data {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

std::string TooLong() { return StrCat("line is longer than ", kMaxLineBytes, " bytes"); }

Result<std::unique_ptr<LineReader>> LineReader::Open(const std::string& path,
                                                     std::optional<QuoteScanner> quotes,
                                                     Passes passes) {
  WEIR_RETURN_IF_ERROR(CheckIsFile(path, passes));
  const std::string name = NameOf(path, passes);
  WEIR_ASSIGN_OR_RETURN(auto source, ByteSource::Open(name));
  std::unique_ptr<LineReader> reader(new LineReader(std::move(source), quotes));
  bool more = true;
  while (more && reader->end_ < kTellingBytes) {
    WEIR_ASSIGN_OR_RETURN(more, reader->Fill());
  }
  if (reader->end_ == 0) return InvalidData(StrCat(name, " is empty"));
  const std::string_view start(reader->buffer_.get(), reader->end_);
  const std::string other = DescribeOtherFormat(name, reader->source_->is_packed(), start);
  if (!other.empty()) return InvalidData(other);
  if (!start.starts_with(kByteOrderMark)) return reader;
  reader->begin_ = kByteOrderMark.size();
  WEIR_ASSIGN_OR_RETURN(const bool only_mark, reader->AtEnd());
  if (only_mark) return InvalidData(StrCat(name, " is empty but for a byte order mark"));
  return reader;
}

LineReader::LineReader(std::unique_ptr<ByteSource> source, std::optional<QuoteScanner> quotes)
    : source_(std::move(source)),
      quotes_(quotes),
      capacity_(kMaxLineBytes + kReadBytes),
      buffer_(std::make_unique_for_overwrite<char[]>(capacity_)) {}

Result<bool> LineReader::Next(Line* line) {
  *line = {};
  first_text_line_ = text_line_count_ + 1;
  Search search;
  if (quotes_) quotes_->Reset();
  while (true) {
    if (const auto length = FindEnd(&search)) {
      if (HidesLines(*length)) return GiveUp(line);
      *line = Take(*length);
      ++begin_;
      return true;
    }
    const size_t size = end_ - begin_;
    if (size > kMaxLineBytes) return GiveUp(line);
    WEIR_ASSIGN_OR_RETURN(const bool more, Fill());
    if (more) continue;
    if (size == 0) return false;
    if (EndsInQuotes(size, &search) || HidesLines(size)) return GiveUp(line);
    *line = Take(size);
    return true;
  }
}

std::optional<size_t> LineReader::FindEnd(Search* search) {
  const char* first = buffer_.get() + begin_;
  while (true) {
    const size_t size = end_ - begin_;
    const void* newline = std::memchr(first + search->seen, '\n', size - search->seen);
    if (newline == nullptr) {
      search->seen = size;
      return std::nullopt;
    }
    const auto length = static_cast<size_t>(static_cast<const char*>(newline) - first);
    if (!EndsInQuotes(length, search)) return length;
    search->seen = length + 1;
  }
}

// Most lines have no quote, and then none of their characters needs to be looked at by itself.
bool LineReader::EndsInQuotes(size_t length, Search* search) {
  if (!quotes_) return false;
  const std::string_view rest(buffer_.get() + begin_ + search->scanned, length - search->scanned);
  if (rest.find('"') != std::string_view::npos) {
    quotes_->Scan(rest);
    search->scanned = length;
  } else if (quotes_->inside_quotes()) {
    search->scanned = length;
  }
  return quotes_->inside_quotes();
}

// Whether quotes hid newlines that turned out to be none.
bool LineReader::HidesLines(size_t length) const {
  return quotes_ && quotes_->is_broken() &&
         std::memchr(buffer_.get() + begin_, '\n', length) != nullptr;
}

// Of a line without an end: its first newline ends it if quotes hid that.
Result<bool> LineReader::GiveUp(Line* line) {
  const std::string_view text(buffer_.get() + begin_, end_ - begin_);
  const size_t newline = text.find('\n');
  if (newline != std::string_view::npos) {
    *line = Take(newline);
    ++begin_;
  } else if (text.size() <= kMaxLineBytes) {
    *line = Take(text.size());
  } else {
    *line = Take(text.size());
    return SkipLineEnd();  // its end is still ahead, and counted above
  }
  line->open_quote = true;
  return true;
}

Line LineReader::Take(size_t length) {
  std::string_view text(buffer_.get() + begin_, length);
  begin_ += length;
  ++line_count_;
  ++text_line_count_;
  if (quotes_ && text.find('\n') != std::string_view::npos) {
    text_line_count_ += std::ranges::count(text, '\n');
  }
  if (length > kMaxLineBytes) return {{}, true};
  const bool had_return = text.ends_with('\r');
  if (had_return) text.remove_suffix(1);
  return {.text = text, .had_return = had_return};
}

Result<bool> LineReader::SkipLineEnd() {
  const int64_t counted = line_count_, text_counted = text_line_count_;
  WEIR_RETURN_IF_ERROR(SkipText(1).status());
  line_count_ = counted;
  text_line_count_ = text_counted;
  return true;
}

Result<int64_t> LineReader::Skip(int64_t count) {
  if (!quotes_) return SkipText(count);
  Line line;
  for (int64_t skipped = 0; skipped < count; ++skipped) {
    WEIR_ASSIGN_OR_RETURN(const bool there, Next(&line));
    if (!there) return skipped;
  }
  return count;
}

Result<int64_t> LineReader::SkipText(int64_t count) {
  int64_t skipped = 0;
  bool inside = false;  // the bytes since the last newline
  while (skipped < count) {
    if (begin_ == end_) {
      WEIR_ASSIGN_OR_RETURN(const bool more, Fill());
      if (!more) break;
    }
    const char* first = buffer_.get() + begin_;
    const void* newline = std::memchr(first, '\n', end_ - begin_);
    inside = newline == nullptr;
    begin_ =
        inside ? end_ : begin_ + static_cast<size_t>(static_cast<const char*>(newline) - first) + 1;
    skipped += inside ? 0 : 1;
  }
  if (inside && skipped < count) ++skipped;
  line_count_ += skipped;
  text_line_count_ += skipped;
  return skipped;
}

Result<bool> LineReader::AtEnd() {
  if (begin_ < end_) return false;
  WEIR_ASSIGN_OR_RETURN(const bool more, Fill());
  return !more;
}

Result<bool> LineReader::Fill() {
  WEIR_RETURN_IF_ERROR(MakeRoom());
  WEIR_ASSIGN_OR_RETURN(const size_t read, source_->Read(buffer_.get() + end_, kReadBytes));
  end_ += read;
  return read > 0;
}

// Of kReadBytes, where the buffer's beginning is still warm if it can be there.
Status LineReader::MakeRoom() {
  const size_t first = keeps_ ? start_.begin : begin_;
  if (keeps_ && end_ - first >= most_kept_) {
    return ResourceExhausted(StrCat("more than ", most_kept_, " bytes are to be read twice"));
  }
  if (keeps_ && capacity_ - end_ >= kReadBytes) return OkStatus();
  std::unique_ptr<char[]> larger;
  if (capacity_ - (end_ - first) < kReadBytes) {
    capacity_ *= 2;
    larger = std::make_unique_for_overwrite<char[]>(capacity_);
  }
  std::memmove(larger ? larger.get() : buffer_.get(), buffer_.get() + first, end_ - first);
  if (larger) buffer_ = std::move(larger);
  position_ += first;
  begin_ -= first;
  end_ -= first;
  start_.begin = 0;
  return OkStatus();
}

void LineReader::Keep(size_t most) {
  keeps_ = true;
  most_kept_ = most;
  start_ = {.begin = begin_,
            .line_count = line_count_,
            .text_line_count = text_line_count_,
            .first_text_line = first_text_line_};
}

void LineReader::StartAgain() {
  keeps_ = false;
  begin_ = start_.begin;
  line_count_ = start_.line_count;
  text_line_count_ = start_.text_line_count;
  first_text_line_ = start_.first_text_line;
}

std::optional<LinePlace> LineReader::place() const {
  const std::optional<BytePlace> at = source_->PlaceOf(position_ + begin_);
  if (!at) return std::nullopt;
  return LinePlace{.at = *at, .line_count = line_count_, .text_line_count = text_line_count_};
}

// The byte before a line ends another. Of a member that begins with the line it is not to be had.
Result<bool> LineReader::Enter(const LinePlace& place) {
  const uint64_t before = source_->is_packed() ? place.at.behind : 1;
  if (!source_->is_packed() && (place.at.entry == 0 || place.at.behind > 0)) return false;
  WEIR_ASSIGN_OR_RETURN(const bool is_entered,
                        source_->Enter(place.at.entry - (source_->is_packed() ? 0 : 1)));
  if (!is_entered) return false;
  keeps_ = false;
  begin_ = end_ = 0;
  position_ = 0;
  char last = '\n';
  WEIR_ASSIGN_OR_RETURN(const bool is_there, GoPast(before, &last));
  if (!is_there || last != '\n') return false;
  WEIR_ASSIGN_OR_RETURN(const bool at_end, AtEnd());
  line_count_ = place.line_count;
  text_line_count_ = first_text_line_ = place.text_line_count;
  return !at_end;
}

// last: gets the last of them. False when there are not so many.
Result<bool> LineReader::GoPast(uint64_t byte_count, char* last) {
  while (byte_count > 0) {
    WEIR_ASSIGN_OR_RETURN(const bool at_end, AtEnd());
    if (at_end) return false;
    const size_t step = std::min<uint64_t>(byte_count, end_ - begin_);
    begin_ += step;
    byte_count -= step;
    *last = buffer_[begin_ - 1];
  }
  return true;
}

}  // namespace weir::data
