// What fuzz targets of text formats share: bytes become a file, and the file is read like
// data.train.
//
// A target is a file <format>_fuzz.cc with LLVMFuzzerTestOneInput, libFuzzer's name for its entry,
// and FuzzSeeds. tests/CMakeLists.txt makes a program of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/proto/config.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace weir::fuzz {

// Inputs of the target that mean something.
std::vector<std::string> FuzzSeeds();

// Learns from the bytes and reads them in chunks, with data as the config's data section. Ends the
// process when what comes of it is no rows of the model that the config describes.
void ReadAsFile(const v1::DataConfig& data, const uint8_t* bytes, size_t size);

}  // namespace weir::fuzz
