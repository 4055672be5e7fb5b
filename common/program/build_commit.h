// Which code a program was built of.
//
// Thread rule: any thread.
#pragma once

#include <string>

namespace weir {

// "f78b76a0c1d2"; with "+changes" where files differed from it; "unknown" outside a repository.
std::string BuildCommit();

}  // namespace weir
