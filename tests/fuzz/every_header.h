// A header of each kind with something in each of its fields, for seeds.
#pragma once

#include <vector>

#include "common/proto/protocol.pb.h"

namespace weir::fuzz {

// numbers: what each of them is.
std::vector<v1::Header> EveryHeader(uint32_t numbers = 1);

}  // namespace weir::fuzz
