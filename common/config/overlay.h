// Lays one config over another: what a run's list of files means.
//
// Scalars and the choice of a oneof: the later wins. A message is merged field by field, also the
// chosen member of a oneof when both files choose the same one. A list, and compression.default, is
// replaced whole; a list cannot be overlaid with an empty one, since text does not tell it from an
// absent one.
//
// Thread rule: any thread.
#pragma once

#include "common/proto/config.pb.h"

namespace weir::config {

void Overlay(const v1::Config& later, v1::Config* base);

}  // namespace weir::config
