// What fuzz targets of text formats share: bytes become a file, and the file is read like
// data.train.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/proto/config.pb.h"
#include "tests/fuzz/target.h"

namespace weir::fuzz {

// Learns from the bytes and reads them in chunks, with data as the config's data section. Ends the
// process when what comes of it is no rows of the model that the config describes.
void ReadAsFile(const v1::DataConfig& data, const uint8_t* bytes, size_t size);

}  // namespace weir::fuzz
