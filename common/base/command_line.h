// What the flags library takes without a word.
//
// Thread rule: any thread.
#pragma once

#include "common/base/status.h"

namespace weir {

// InvalidConfig that names --config and --override when they are given more than once: the last
// alone would count, and what the others say would be lost.
// arguments: as main has them, before the flags are taken out.
Status CheckConfigFlagsGivenOnce(int argument_count, const char* const* arguments);

}  // namespace weir
