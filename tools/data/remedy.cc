#include "tools/data/remedy.h"

#include <filesystem>

#include "common/base/strings.h"

namespace weir::tools {

FileName::FileName(const std::string& path) {
  const auto take = [](std::filesystem::path* rest) {
    std::string extension = rest->extension().string();
    rest->replace_extension();
    return extension;
  };
  std::filesystem::path rest = path;
  type = take(&rest);
  if (type == ".gz" || type == ".zst") {
    packing = type;
    type = take(&rest);
  }
  stem = rest.string();
}

std::string Rewritten(const std::string& path, const std::string& filter, const char* type) {
  const FileName name(path);
  const std::string to = StrCat(name.stem, ".fixed", type == nullptr ? name.type : type);
  if (name.packing.empty()) return StrCat(filter, " ", ShellWord(path), " > ", ShellWord(to));
  return StrCat(name.packing == ".gz" ? "zcat " : "zstdcat ", ShellWord(path), " | ", filter,
                " | gzip > ", ShellWord(to + ".gz"));
}

std::string ToMend(const std::string& path, const std::string& filter, const char* type) {
  return StrCat("; to make a file that reads: ", Rewritten(path, filter, type));
}

}  // namespace weir::tools
