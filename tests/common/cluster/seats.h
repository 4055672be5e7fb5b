// Trainers of unsplit models.
#pragma once

#include "common/cluster/membership.h"

namespace weir::cluster {

inline constexpr Seat kFirst = {.trainer = 0};
inline constexpr Seat kSecond = {.trainer = 1};
inline constexpr Seat kThird = {.trainer = 2};

}  // namespace weir::cluster
