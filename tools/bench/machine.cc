#include "tools/bench/machine.h"

#include <unistd.h>

#include <fstream>
#include <thread>

#include "common/base/strings.h"
#include "common/program/build_commit.h"

namespace weir::bench {
namespace {

// The text behind the colon of the first line of /proc/cpuinfo that begins with key.
std::string ProcessorField(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

std::string Simd() {
  // As x86 and as Arm call them.
  const std::string flags = StrCat(ProcessorField("flags"), " ", ProcessorField("Features"), " ");
  const auto has = [&](const char* flag) {
    return flags.find(StrCat(" ", flag, " ")) != std::string::npos;
  };
  if (has("amx_bf16")) return "AVX-512 with AMX";
  if (has("avx512_bf16")) return "AVX-512 with BF16";
  if (has("avx512f")) return "AVX-512";
  if (has("avx2")) return "AVX2";
  if (has("asimd")) return has("bf16") ? "NEON with BF16" : "NEON";
  return "none that is known";
}

}  // namespace

Machine DescribeMachine() {
  const double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return {.processor = ProcessorField("model name"),
          .simd = Simd(),
          .core_count = static_cast<int>(std::thread::hardware_concurrency()),
          .memory_gib = bytes / (1 << 30),
          .compiler = WEIR_COMPILER,
          .commit = BuildCommit()};
}

}  // namespace weir::bench
