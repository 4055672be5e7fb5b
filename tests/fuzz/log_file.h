// Files of records behind their checksums, which would stop nearly every damaged input.
#pragma once

#include <cstdint>

#include "common/base/bytes.h"

namespace weir::fuzz {

// The bytes as a file, in which the checksums of every record and of its frames are made good, as
// far as lengths go.
Bytes ResealedRecords(const uint8_t* data, size_t size);

}  // namespace weir::fuzz
