// What libFuzzer calls first. With --seeds=FOLDER a target writes its seeds there, a file each, and
// ends.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "tests/fuzz/target.h"

namespace weir::fuzz {
namespace {

int WriteSeeds(const std::string& folder) {
  size_t count = 0;
  for (const std::string& seed : FuzzSeeds()) {
    const std::string path = folder + "/seed-" + std::to_string(++count);
    if (std::ofstream(path, std::ios::binary) << seed) continue;
    std::cerr << "error: " << path << " cannot be written\n";
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kSeeds = "--seeds=";
  const std::string first = *argc > 1 ? (*argv)[1] : "";
  if (first.starts_with(kSeeds)) std::exit(weir::fuzz::WriteSeeds(first.substr(kSeeds.size())));
  return 0;
}
