#include "tools/data/foreign_format.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/strings.h"
#include "common/base/utf8.h"
#include "tools/data/column_sample.h"
#include "tools/data/remedy.h"
#include "worker/data/line_reader.h"

namespace weir::tools {
namespace {

using Lines = std::span<const std::string>;

// Lines that are looked at, and bytes of one.
constexpr size_t kLines = 50;
constexpr size_t kLineBytes = 4096;

std::string ReturnsAdvice(const std::string& path) { return ToMend(path, "sed 's/\\r/\\n/g'"); }

Result<std::vector<std::string>> FirstLines(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(const auto lines, data::LineReader::Open(path));
  std::vector<std::string> first;
  data::Line line;
  while (first.size() < kLines) {
    WEIR_ASSIGN_OR_RETURN(const bool there, lines->Next(&line));
    if (!there) break;
    if (first.empty() && !IsUtf8(line.text)) {
      return InvalidData(StrCat(path,
                                ": the first line is not UTF-8, which readers refuse; if it is "
                                "text of another encoding, convert it, for example with iconv"));
    }
    if (first.empty() && line.too_long) {
      return InvalidData(StrCat(path, ": the first ", data::TooLong(),
                                "; if lines end with a carriage return alone",
                                ReturnsAdvice(path).substr(1)));
    }
    if (!line.text.empty()) first.emplace_back(line.text.substr(0, kLineBytes));
  }
  return first;
}

template <typename Fits>
bool AllButFew(Lines lines, const Fits& fits) {
  return 10 * std::ranges::count_if(lines, fits) >= 9 * std::ssize(lines);
}

// Names of an object's own members, as far as a line shows them.
std::vector<std::string> MemberNames(std::string_view object) {
  std::vector<std::string> names;
  int depth = 0;
  for (size_t i = 0; i < object.size(); ++i) {
    depth += object[i] == '{' || object[i] == '['   ? 1
             : object[i] == '}' || object[i] == ']' ? -1
                                                    : 0;
    if (object[i] != '"') continue;
    const size_t begin = i + 1;
    for (++i; i < object.size() && object[i] != '"'; ++i) i += object[i] == '\\' ? 1 : 0;
    const size_t next = object.find_first_not_of(" \t", std::min(i + 1, object.size()));
    if (depth == 1 && next != std::string_view::npos && object[next] == ':') {
      names.emplace_back(object.substr(begin, i - begin));
    }
  }
  return names;
}

std::string JsonAdvice(const std::string& path, const std::string& line) {
  std::string header, values;
  for (const std::string& name : MemberNames(line)) {
    header += StrCat(header.empty() ? "" : ",", "\"", name, "\"");
    values += StrCat(values.empty() ? "" : ",", ".\"", name, "\"");
  }
  return StrCat(
      "JSON lines, which are not read",
      ToMend(
          path,
          StrCat("jq -rn ", ShellWord(StrCat("[", header, "], (inputs | [", values, "]) | @csv"))),
          ".csv"));
}

// Whose objects are told from one line or from many.
std::string ArrayAdvice(const std::string& path) {
  return StrCat("a JSON array, which is not read; make a line of each object, then CSV of those",
                ToMend(path, "jq -c '.[]'", ".jsonl"));
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Of objects: its first line opens the array, and ends where a line of JSON may.
bool IsArray(Lines lines) {
  const std::string_view first = Trimmed(lines.front());
  if (first == "[") return lines.size() > 1 && Trimmed(lines[1]).starts_with('{');
  if (!first.starts_with('[') || !Trimmed(first.substr(1)).starts_with('{')) return false;
  return std::string_view(",]}{").find(first.back()) != std::string_view::npos;
}

// Of old Macintosh programs: all of the file looks like one line. A return within quotes is text.
bool EndsLinesByReturns(Lines lines) {
  const std::string& line = lines.front();
  return lines.size() == 1 && std::ranges::count(line, '\r') > 1 &&
         line.find('"') > line.find('\r');
}

bool IsJson(const std::string& line) { return line.starts_with('{') && line.ends_with('}'); }

size_t CountOf(std::string_view line, std::string_view mark) {
  size_t count = 0;
  for (size_t at = line.find(mark); at != std::string_view::npos;
       at = line.find(mark, at + mark.size())) {
    ++count;
  }
  return count;
}

size_t WordCount(const std::string& line) {
  size_t count = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    count += line[i] != ' ' && (i == 0 || line[i - 1] == ' ') ? 1 : 0;
  }
  return count;
}

// "1 |ns a:1 b", "1 2.0 'tag|ns a", "1 | a b": a label, perhaps a weight and a tag, then
// namespaces.
bool IsVowpalWabbit(const std::string& line) {
  constexpr size_t kMostWords = 4;
  const size_t bar = line.find('|');
  if (bar == std::string::npos || bar == 0) return false;
  const std::string before = line.substr(0, bar), behind = line.substr(bar + 1);
  if (!IsNumber(before.substr(0, before.find(' '))) || WordCount(before) > kMostWords) return false;
  const bool is_apart = before.ends_with(' ') || before.find(" '") != std::string::npos;
  const bool is_named = !behind.empty() && behind[0] != ' ';
  return is_apart && (is_named || (CountOf(behind, "|") == 0 && WordCount(behind) > 1));
}

bool HasDoubleColons(Lines lines) {
  const size_t count = CountOf(lines.front(), "::");
  return count > 0 &&
         AllButFew(lines, [&](const std::string& line) { return CountOf(line, "::") == count; });
}

// Words in columns, so that single spaces do not delimit them.
bool HasRunsOfSpaces(Lines lines) {
  const size_t words = WordCount(lines.front());
  const auto has_other = [](const std::string& line) {
    return line.find_first_of(",;|\t\x01") != std::string::npos;
  };
  const auto has_run = [](const std::string& line) {
    return line.starts_with(' ') || line.find("  ") != std::string::npos;
  };
  return words > 1 && std::ranges::none_of(lines, has_other) &&
         std::ranges::any_of(lines, has_run) &&
         AllButFew(lines, [&](const std::string& line) { return WordCount(line) == words; });
}

// What the lines are, and what to do; empty for what is not known.
std::string Foreign(const std::string& path, Lines lines) {
  if (IsArray(lines)) return ArrayAdvice(path);
  if (EndsLinesByReturns(lines)) {
    return StrCat("lines that end with a carriage return alone, which are not read",
                  ReturnsAdvice(path));
  }
  if (AllButFew(lines, IsJson)) return JsonAdvice(path, lines.front());
  if (AllButFew(lines, IsVowpalWabbit)) {
    return StrCat(
        "lines of Vowpal Wabbit, which are not read; each namespace can be a column of "
        "lists, categorical { separator: \" \" }, where all lines have the same ones in "
        "the same order, and weights stay part of the names",
        ToMend(path, "sed -E 's/ *\\|[^ ]* */,/g'", ".csv"));
  }
  if (HasDoubleColons(lines)) {
    return StrCat("fields between two colons, and a delimiter is one character",
                  ToMend(path, "sed 's/::/\\t/g'", ".tsv"));
  }
  if (HasRunsOfSpaces(lines)) {
    return StrCat("fields between runs of spaces, and a delimiter is one character",
                  ToMend(path, "sed -E 's/^ +//; s/ +$//; s/ +/\\t/g'", ".tsv"));
  }
  return "";
}

}  // namespace

Status RefuseForeignFormat(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> lines, FirstLines(path));
  if (lines.empty()) return InvalidData(StrCat(path, " has no line but blank ones"));
  const std::string foreign = Foreign(path, lines);
  return foreign.empty() ? OkStatus() : InvalidData(StrCat(path, " has ", foreign));
}

}  // namespace weir::tools
