// Texts of every format of lines, with what makes lines hard to find.
#pragma once

#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/proto/config.pb.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/line.h"

namespace weir::data {

// A text, and how it is to be read.
struct TextExample {
  std::string name;
  std::string text;
  v1::Config config;
};

inline v1::Config ThreeColumns() {
  v1::Config config;
  v1::CsvConfig& csv = *config.mutable_data()->mutable_csv();
  csv.mutable_label()->set_column("y");
  csv.add_dense()->set_column("x");
  csv.add_categorical()->set_column("c");
  csv.mutable_categorical(0)->set_rows(1000);
  return config;
}

// Lines of CSV with quoted newlines, doubled quotes, blank lines and quotes that are not closed.
inline std::string QuotedCsvLines(int count, const char* line_end) {
  RandomStream random(7);
  std::string text = StrCat("y,x,c", line_end);
  for (int i = 0; i < count; ++i) {
    const uint64_t kind = random.NextBelow(8);
    if (kind == 0) text += line_end;
    const std::string value = kind == 1   ? StrCat("\"a", line_end, "b", i, "\"")
                              : kind == 2 ? StrCat("\"\"\"\n\n", i, "\"\"\"")
                              : kind == 3 ? StrCat("\"open\nand text\" ", i)
                                          : StrCat("v", i);
    text += StrCat(i % 2, ",", i, ",", value, line_end);
  }
  return text;
}

inline std::string LibsvmLines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += StrCat(i % 2, " ", 1 + i, ":1 ", 100 + i, ":0.5\n");
  return text;
}

inline std::vector<TextExample> TextExamples() {
  const v1::Config criteo = CriteoConfig({});
  v1::Config libsvm;
  libsvm.mutable_data()->mutable_libsvm()->set_rows_per_table(500);
  std::string no_newline = CriteoLines(0, 21);
  no_newline.pop_back();
  std::string bad = CriteoLines(0, 9) + "no row\n\n" + std::string(kMaxLineBytes + 1, 'x') + "\n";
  return {{"criteo", CriteoLines(0, 30), criteo},
          {"whole chunks", CriteoLines(0, 20), criteo},
          {"no last newline", no_newline, criteo},
          {"malformed", bad + CriteoLines(9, 30), criteo},
          {"csv", QuotedCsvLines(40, "\n"), ThreeColumns()},
          {"csv crlf", QuotedCsvLines(40, "\r\n"), ThreeColumns()},
          {"csv with a mark", "\xef\xbb\xbf" + QuotedCsvLines(40, "\n"), ThreeColumns()},
          {"libsvm", LibsvmLines(33), libsvm}};
}

}  // namespace weir::data
