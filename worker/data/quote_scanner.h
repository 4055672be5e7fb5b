// Whether a text of comma-separated values ends inside quotes, so that the newline behind it
// belongs to a field (RFC 4180, section 2, rule 6).
//
// A quote opens a quoted part only where a field begins; within it two quotes are one character,
// and what follows the closing quote up to the delimiter is text like any other. Python's csv
// module reads the same.
//
// Place in the life of a batch: **read** -> parse -> batch.
// Thread rule: thread-compatible.
#pragma once

#include <string_view>

namespace weir::data {

class QuoteScanner {
 public:
  explicit QuoteScanner(char delimiter) : delimiter_(delimiter) {}

  // Goes over the next characters of a record.
  void Scan(std::string_view text) {
    for (const char c : text) Step(c);
  }
  bool inside_quotes() const { return state_ == State::kQuoted; }
  // To the start of another record.
  void Reset() { state_ = State::kFieldStart; }

 private:
  enum class State { kFieldStart, kPlain, kQuoted, kQuoteInQuotes };

  void Step(char c) {
    switch (state_) {
      case State::kFieldStart:
        state_ = c == '"' ? State::kQuoted : After(c);
        return;
      case State::kPlain:
        state_ = After(c);
        return;
      case State::kQuoted:
        if (c == '"') state_ = State::kQuoteInQuotes;
        return;
      case State::kQuoteInQuotes:
        state_ = c == '"' ? State::kQuoted : After(c);
        return;
    }
  }
  State After(char c) const { return c == delimiter_ ? State::kFieldStart : State::kPlain; }

  const char delimiter_;
  State state_ = State::kFieldStart;
};

}  // namespace weir::data
