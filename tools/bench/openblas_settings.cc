#include "tools/bench/openblas_settings.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace weir::bench {

void LetOpenBlasChoose(char** argv) {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;  // which unsetenv does not remove
    if (text.starts_with("OPENBLAS_")) names.emplace_back(text.substr(0, equals));
  }
  if (names.empty()) return;
  for (const std::string& name : names) unsetenv(name.c_str());
  execv("/proc/self/exe", argv);
  std::cerr << "warning: cannot start again without OPENBLAS_ variables (" << std::strerror(errno)
            << "); OpenBLAS may run below its best" << std::endl;
}

}  // namespace weir::bench
