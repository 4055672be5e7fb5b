// Criteo's tab-separated lines, plain or packed.
#include "common/base/strings.h"
#include "tests/fuzz/text_file.h"

namespace weir::fuzz {

std::vector<std::string> FuzzSeeds() {
  std::string lines, missing = "1";
  for (int line = 0; line < 12; ++line) {
    lines += line % 3 == 0 ? "1" : "0";
    for (int i = 0; i < 13; ++i) lines += StrCat("\t", line + i - 2);
    for (int i = 0; i < 26; ++i) lines += StrCat("\t", 10000000 + 37 * (line + i));
    lines += "\n";
  }
  missing.append(39, '\t');
  return {lines, missing, std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10),
          std::string("\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00", 9)};
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::v1::DataConfig config;
  config.mutable_criteo_tsv()->set_rows_per_table(1000);
  weir::fuzz::ReadAsFile(config, data, size);
  return 0;
}
