// Lines of shell that make a readable file of one that is not, for messages.
//
// Thread rule: pure functions, any thread.
#pragma once

#include <string>

namespace weir::tools {

// "folder/clicks.csv.gz" -> "folder/clicks", ".csv", ".gz".
struct FileName {
  explicit FileName(const std::string& path);

  std::string stem, type, packing;
};

// "sed -E 's/x/y/' a.csv > a.fixed.csv", or the same of a packed file, packed again. filter: a
// program that reads standard input where no file is named, with its arguments.
std::string Rewritten(const std::string& path, const std::string& filter,
                      const char* type = nullptr);

// Readable again by this command: "; to make a file that reads: COMMAND".
std::string ToMend(const std::string& path, const std::string& filter, const char* type = nullptr);

}  // namespace weir::tools
