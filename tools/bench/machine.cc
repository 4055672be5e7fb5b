#include "tools/bench/machine.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>

#include "common/base/strings.h"

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

// One line of a command's output, without its end of line; empty when it fails.
std::string CommandLine(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 256> buffer{};
  if (!pipe || !std::fgets(buffer.data(), buffer.size(), pipe.get())) return "";
  std::string line(buffer.data());
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

std::string Simd() {
  const std::string flags = ProcessorField("flags") + " ";
  const auto has = [&](const char* flag) {
    return flags.find(StrCat(" ", flag, " ")) != std::string::npos;
  };
  if (has("amx_bf16")) return "AVX-512 with AMX";
  if (has("avx512_bf16")) return "AVX-512 with BF16";
  if (has("avx512f")) return "AVX-512";
  return has("avx2") ? "AVX2" : "none that is known";
}

std::string Commit() {
  const std::string git = StrCat("git -C ", WEIR_SOURCE_DIR, " ");
  const std::string commit = CommandLine(git + "rev-parse --short=12 HEAD 2>/dev/null");
  if (commit.empty()) return "unknown";
  const bool changed = !CommandLine(git + "status --porcelain -uno 2>/dev/null").empty();
  return changed ? commit + "+changes" : commit;
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
          .commit = Commit()};
}

}  // namespace weir::bench
