// What a config may say and does otherwise than one would think: told at the start of a run, which
// goes on.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "common/proto/config.pb.h"

namespace weir::config {

// One line each: "field.path: what happens; what to do". config: valid, with defaults filled in.
std::vector<std::string> Warnings(const v1::Config& config);

}  // namespace weir::config
