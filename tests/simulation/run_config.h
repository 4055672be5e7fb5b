// The config of a simulated run.
//
// Thread rule: any thread.
#pragma once

#include "common/proto/config.pb.h"
#include "tests/simulation/mix.h"

namespace weir::simulation {

v1::Config ConfigOf(const Mix& mix);

}  // namespace weir::simulation
