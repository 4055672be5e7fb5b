// Two trainers of unsplit models.
#pragma once

#include "common/cluster/membership.h"

namespace weir::cluster {

inline constexpr Seat kFirst = {.trainer = 0};
inline constexpr Seat kSecond = {.trainer = 1};

}  // namespace weir::cluster
