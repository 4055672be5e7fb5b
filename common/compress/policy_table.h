// The list of all policies: which config field makes which policy. A test walks the config's oneof
// and demands an entry for each field.
//
// Thread rule: any thread.
#pragma once

#include <memory>

#include "common/compress/policy.h"

namespace weir::compress {

// rule: valid, with defaults filled in.
std::unique_ptr<const Policy> MakePolicy(const v1::PolicyRule& rule);

}  // namespace weir::compress
