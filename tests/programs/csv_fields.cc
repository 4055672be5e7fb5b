// Writes the fields of a file of comma-separated values as JSON, a line for each record: what
// tests/worker/data/csv_property_test.py compares with Python's csv module. A record with an open
// quote becomes null.
//
//   csv_fields FILE DELIMITER

#include <iostream>
#include <nlohmann/json.hpp>

#include "worker/data/csv_fields.h"
#include "worker/data/line_reader.h"

// NOLINTNEXTLINE(bugprone-exception-escape): a test sees that
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char delimiter = argv[2][0];
  auto lines = weir::data::LineReader::Open(argv[1], weir::data::QuoteScanner(delimiter));
  if (!lines.ok()) {
    std::cerr << lines.status() << "\n";
    return 1;
  }
  weir::data::CsvFields fields(delimiter);
  weir::data::Line line;
  while (*(*lines)->Next(&line)) {
    nlohmann::json record;
    if (!line.open_quote) {
      fields.Split(line.text);
      for (const std::string_view field : fields.All()) record.push_back(field);
    }
    std::cout << record.dump() << "\n";
  }
}
