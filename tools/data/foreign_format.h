// Text files that other programs read and no reader here does, by their first lines: what they are,
// and how to make a file that reads.
//
// Thread rule: any thread.
#pragma once

#include <string>

#include "common/base/status.h"

namespace weir::tools {

// InvalidData, naming the format and what to do, when the file is of one that is known by its
// looks: JSON lines, Vowpal Wabbit, "::" between fields, runs of spaces between them. OK for all
// else. What opening the file says, too: an archive, for instance.
Status RefuseForeignFormat(const std::string& path);

}  // namespace weir::tools
