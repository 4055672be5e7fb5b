// What a saved model holds, and whether it is as it was written.
//
// Thread rule: any thread.
#pragma once

#include <ostream>
#include <string>

#include "common/base/status.h"

namespace weir::tools {

// The first that is wrong, with its file.
Status InspectSavedModel(const std::string& folder, std::ostream& out);

}  // namespace weir::tools
