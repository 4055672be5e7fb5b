// Whether a text of comma-separated values ends inside quotes, so that the newline behind it
// belongs to a field (RFC 4180, section 2, rule 6).
//
// A quote opens a quoted part only where a field begins; within it two quotes are one character.
// Text behind the closing quote tells that the quotes were none, but characters of a text; what
// they enclose is then no reason to take the lines that follow for a part of this one.
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
  // Whether text followed a closing quote.
  bool is_broken() const { return state_ == State::kBroken; }
  // To the start of another record.
  void Reset() { state_ = State::kFieldStart; }

 private:
  enum class State { kFieldStart, kPlain, kQuoted, kQuoteInQuotes, kAfterQuotes, kBroken };

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
        state_ = c == '"' ? State::kQuoted : Behind(c);
        return;
      case State::kAfterQuotes:
        state_ = Behind(c);
        return;
      case State::kBroken:
        return;
    }
  }
  State After(char c) const { return c == delimiter_ ? State::kFieldStart : State::kPlain; }
  State Behind(char c) const {
    if (c == delimiter_) return State::kFieldStart;
    return c == ' ' || c == '\t' || c == '\r' ? State::kAfterQuotes : State::kBroken;
  }

  const char delimiter_;
  State state_ = State::kFieldStart;
};

}  // namespace weir::data
