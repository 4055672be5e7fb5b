// What is said of a gradient that no policy could send.
//
// Thread rule: any thread.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/base/strings.h"

namespace weir::compress {

inline Status NotFinite(const std::string& layer) {
  return Internal(StrCat("the gradient of ", layer,
                         " is not finite. Training has diverged: try a smaller learning rate, "
                         "and a transform for columns of large values"));
}

}  // namespace weir::compress
