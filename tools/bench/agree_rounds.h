// What ExDyna does over a few hundred rounds of training (agreed_training.h): how evenly its
// partitions share what is selected, beside partitions that never move, and its threshold beside
// the norm of what is not sent.
//
// Thread rule: as a section.
#pragma once

#include "common/base/status.h"
#include "tools/bench/line.h"

namespace weir::bench {

Result<Lines> MeasureExDynaRounds(bool quick);

}  // namespace weir::bench
