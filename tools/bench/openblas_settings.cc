#include "tools/bench/openblas_settings.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace weir::bench {

void LetOpenBlasChoose(char** argv) {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("OPENBLAS_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  if (names.empty()) return;
  for (const std::string& name : names) unsetenv(name.c_str());
  execv("/proc/self/exe", argv);  // returns only if it fails; then OpenBLAS is as it was told
}

}  // namespace weir::bench
