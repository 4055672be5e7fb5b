#include "tools/bench/openblas_settings.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/peers/gemm_libraries.h"

namespace weir::bench {
namespace {

// Set by this file alone: OpenBLAS has been told all that it needs.
constexpr const char* kToldVariable = "WEIR_BENCH_TOLD_OPENBLAS";
constexpr const char* kCoreVariable = "OPENBLAS_CORETYPE";

std::vector<std::string> OpenBlasVariables() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;  // which unsetenv does not remove
    if (text.starts_with("OPENBLAS_")) names.emplace_back(text.substr(0, equals));
  }
  return names;
}

// Of a processor that came after it OpenBLAS uses nothing but SSE3.
const char* BetterCoreType() {
#if defined(__x86_64__)
  if (OpenBlasCoreType() != "Prescott") return nullptr;
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

void StartAgain(char** argv) {
  execv("/proc/self/exe", argv);
  std::cerr << "warning: cannot start again with other OPENBLAS_ variables ("
            << std::strerror(errno) << "); OpenBLAS may run below its best" << std::endl;
}

}  // namespace

void LetOpenBlasDoItsBest(char** argv) {
  if (getenv(kToldVariable) != nullptr) return;
  const std::vector<std::string> names = OpenBlasVariables();
  for (const std::string& name : names) unsetenv(name.c_str());
  if (!names.empty()) return StartAgain(argv);
  const char* const better = BetterCoreType();
  if (better == nullptr) return;
  setenv(kCoreVariable, better, 1);
  setenv(kToldVariable, "1", 1);
  StartAgain(argv);
}

}  // namespace weir::bench
