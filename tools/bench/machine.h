// What a measurement was made with: processor, cores, memory, compiler, commit.
//
// Thread rule: any thread; reads files.
#pragma once

#include <string>

namespace weir::bench {

struct Machine {
  std::string processor;  // as the kernel names it
  std::string simd;       // "AVX-512 with BF16", "AVX2", ...: the widest that it has
  int core_count = 0;
  double memory_gib = 0;
  std::string compiler;  // with its version and the build type
  std::string
      commit;  // that was built; "unknown" outside a checkout; "+changes" where files differ
};

Machine DescribeMachine();

}  // namespace weir::bench
