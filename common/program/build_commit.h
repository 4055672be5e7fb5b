// Which code a program was built of.
//
// Thread rule: any thread.
#pragma once

#include <string>

namespace weir {

// The last commit that changed what programs are built of, "f78b76a0c1d2"; with "+changes" where
// files differed from it; "unknown" outside a repository.
std::string BuildCommit();

}  // namespace weir
