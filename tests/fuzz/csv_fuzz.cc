// Comma-separated values. The first byte of the input chooses among configs.
#include "tests/fuzz/text_file.h"

namespace weir::fuzz {
namespace {

enum Choice : uint8_t { kHeader = 1, kTab = 2, kLists = 4, kFrequent = 8, kNoQuotes = 16 };

v1::DataConfig MakeData(uint8_t choice) {
  v1::DataConfig data;
  v1::CsvConfig& csv = *data.mutable_csv();
  const bool header = (choice & kHeader) != 0;
  csv.set_header(header);
  csv.set_delimiter(std::string(1, (choice & kTab) != 0 ? '\t' : ','));
  if ((choice & kNoQuotes) != 0) csv.set_quotes(v1::CsvConfig::NONE);
  *csv.add_missing() = '?';
  *csv.mutable_label()->mutable_column() = header ? 'y' : '0';
  v1::DenseColumn& dense = *csv.add_dense();
  *dense.mutable_column() = header ? 'n' : '1';
  dense.mutable_log1p();
  dense.mutable_standardise();
  for (const char* name : {"hash", "integer", "buckets"}) {
    v1::CategoricalColumn& column = *csv.add_categorical();
    *column.mutable_column() = header ? 'c' : '2';
    column.set_name(name);
    column.set_rows(7);
    if ((choice & kLists) != 0) *column.mutable_separator() = '|';
    if ((choice & kFrequent) != 0) column.set_minimum_frequency(2);
  }
  csv.mutable_categorical(1)->mutable_integer();
  csv.mutable_categorical(2)->mutable_bucketise()->add_boundaries(-1);
  csv.mutable_categorical(2)->mutable_bucketise()->add_boundaries(2.5);
  return data;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string plain = "1,2.5,3\n0,,?\n0,-7,12\r\n1,1e30,-4";
  const std::string quoted = "y,n,c\n1,\"2\",\"3|4\"\n0,\"\"\"\",\"a,b\nc\"\n1, 4 ,5|6|7\n";
  std::string tabbed = quoted;
  for (char& c : tabbed) c = c == ',' ? '\t' : c;
  return {std::string("\0\xef\xbb\xbf", 4),  char(0) + plain,
          char(kFrequent) + plain,           char(kHeader) + quoted,
          char(kHeader | kLists) + quoted,   char(kHeader | kTab | kLists | kFrequent) + tabbed,
          char(kHeader | kNoQuotes) + quoted};
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) weir::fuzz::ReadAsFile(weir::fuzz::MakeData(data[0]), data + 1, size - 1);
  return 0;
}
