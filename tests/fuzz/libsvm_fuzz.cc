// Lines of libsvm and libffm. The lowest bit of the input's first byte chooses between them.
#include "tests/fuzz/text_file.h"

namespace weir::fuzz {

std::vector<std::string> FuzzSeeds() {
  return {std::string(1, 0) + "1 3:0.5 7:1\n-1 2:1e-3 # a comment\n+1\n0 1:1 1:2",
          std::string(1, 1) + "1 0:3:0.5 2:7:1\n-1 1:2:-4\n0\n"};
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  weir::v1::DataConfig config;
  config.mutable_libsvm()->set_fields((data[0] & 1) * 3);
  config.mutable_libsvm()->set_rows_per_table(100);
  weir::fuzz::ReadAsFile(config, data + 1, size - 1);
  return 0;
}
