// What every fuzz target is: a file <name>_fuzz.cc with LLVMFuzzerTestOneInput, libFuzzer's name
// for its entry, and FuzzSeeds. tests/CMakeLists.txt makes a program of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace weir::fuzz {

// Inputs of the target that mean something.
std::vector<std::string> FuzzSeeds();

}  // namespace weir::fuzz
