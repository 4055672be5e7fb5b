// Lines of a plain or compressed file, one after the other, through a buffer, which grows to what
// is to be read twice.
//
// What is compressed is told apart and unpacked below (worker/data/byte_source.h). A line ends at
// '\n' or at the end of the file; a '\r' at its end is dropped. A line longer than kMaxLineBytes is
// reported without its text.
//
// Where quotes count, a newline inside them does not end a line, so a line here may be several of
// an editor's. Quotes that are not closed within kMaxLineBytes, or at all, or that hid newlines
// before text that no closing quote may have behind it, are reported with the text up to the first
// newline, and what follows is read as if they were not there.
//
// Place in the life of a batch: lease -> **read** -> parse -> batch.
// Thread rule: thread-compatible. Owns the open file.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "worker/data/byte_source.h"
#include "worker/data/file_kind.h"
#include "worker/data/line.h"
#include "worker/data/quote_scanner.h"

namespace weir::data {

// What is wrong with a line that is too long.
std::string TooLong();

class LineReader {
 public:
  static constexpr size_t kAllBytes = std::numeric_limits<size_t>::max();

  // NotFound when path is no readable file, InvalidData when it holds nothing, does not unpack or
  // has another format than text. quotes: whether quotes count, and what delimits the fields that
  // they stand in.
  static Result<std::unique_ptr<LineReader>> Open(const std::string& path,
                                                  std::optional<QuoteScanner> quotes = {},
                                                  Passes passes = Passes::kMany);

  // The file's next line; false when there is none. Every error names the file, and all calls after
  // it are errors too.
  Result<bool> Next(Line* line);

  // Goes past up to count lines without looking at them; returns how many there were.
  Result<int64_t> Skip(int64_t count);

  // What is read from here on is kept, so that StartAgain, once, lets Next begin anew with what is
  // the next line now. To read more than `most` bytes meanwhile is an error, until StartAgain.
  void Keep(size_t most = kAllBytes);
  void StartAgain();

  // Of the next line. Nothing for one that has no place from which it can be found again.
  std::optional<LinePlace> place() const;
  // Reads on at a place. False, or an error, when no line begins there; nothing can be read then.
  Result<bool> Enter(const LinePlace& place);

  // True when no line is left; reads ahead to know.
  Result<bool> AtEnd();

  // Lines gone past so far.
  int64_t line_count() const { return line_count_; }
  // The newline-terminated line, from 1, in which the last line that Next gave begins.
  int64_t first_text_line() const { return first_text_line_; }
  // And the one in which it ends.
  int64_t last_text_line() const { return text_line_count_; }

 private:
  LineReader(std::unique_ptr<ByteSource> source, std::optional<QuoteScanner> quotes);

  // Bytes of a line whose end was not found yet.
  struct Search {
    size_t seen = 0;     // without an end
    size_t scanned = 0;  // that quotes_ has gone over
  };

  // Bytes of the line that begins at begin_; nothing when more must be read to know.
  std::optional<size_t> FindEnd(Search* search);
  bool EndsInQuotes(size_t length, Search* search);
  bool HidesLines(size_t length) const;
  Result<bool> GiveUp(Line* line);
  // Skip, for lines of a text without quotes.
  Result<int64_t> SkipText(int64_t count);
  // Gives out the next length bytes as a line; its '\n' stays.
  Line Take(size_t length);
  // Goes past the rest of a line that was given out already.
  Result<bool> SkipLineEnd();
  // Makes room at the end of the buffer and reads on. False at the end of the file.
  Result<bool> Fill();
  Status MakeRoom();
  Result<bool> GoPast(uint64_t byte_count, char* last);

  std::unique_ptr<ByteSource> source_;
  std::optional<QuoteScanner> quotes_;
  size_t capacity_;
  std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0;  // [begin_, end_) of buffer_ is read and not yet given out
  size_t end_ = 0;
  uint64_t position_ = 0;  // of buffer_[0], as source_ counts its bytes
  bool keeps_ = false;
  size_t most_kept_ = 0;
  struct {
    size_t begin = 0;
    int64_t line_count = 0, text_line_count = 0, first_text_line = 0;
  } start_;  // where StartAgain goes back to
  int64_t line_count_ = 0;
  int64_t text_line_count_ = 0;  // newlines gone past
  int64_t first_text_line_ = 0;
};

}  // namespace weir::data
