// A header of each kind with something in each of its fields, for seeds.
#pragma once

#include <vector>

#include "common/proto/protocol.pb.h"

namespace weir::fuzz {

std::vector<v1::Header> EveryHeader();

}  // namespace weir::fuzz
