// What a path must lead to for its bytes to be read: a file, or, where one pass is enough, whatever
// gives bytes, such as a pipe.
//
// Thread rule: any thread.
#pragma once

#include <string>

#include "common/base/status.h"

namespace weir::data {

// Whether a file is read once or again and again, which only a regular file can be. Read once, "-"
// is standard input.
enum class Passes { kMany, kOne };

// NotFound for nothing or a folder, InvalidData for what cannot be read so often; names the path.
Status CheckIsFile(const std::string& path, Passes passes);

// "standard input" for what "-" means then.
std::string NameOf(const std::string& path, Passes passes);

// Whether what the path means can be read once only.
bool IsStream(const std::string& path, Passes passes);

}  // namespace weir::data
