// What the flags library takes without a word.
//
// Thread rule: any thread.
#pragma once

#include "common/base/status.h"

namespace weir {

// InvalidConfig that names --config and --override when they are given more than once, for the last
// alone would count, and what the others say would be lost; and flags that name a folder and are
// given empty, as by a variable that is not set: what was learned would be saved nowhere.
// arguments: as main has them, before the flags are taken out.
Status CheckCommandLine(int argument_count, const char* const* arguments);

}  // namespace weir
