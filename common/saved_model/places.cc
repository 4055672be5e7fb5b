#include "common/saved_model/places.h"

#include <algorithm>
#include <filesystem>

#include "common/saved_model/saved_model.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;

// Absolute, without links, dots and slashes at the end.
fs::path Resolved(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  fs::path resolved = fs::weakly_canonical(absolute, error);
  if (error) resolved = absolute.lexically_normal();
  return resolved.has_filename() ? resolved : resolved.parent_path();
}

}  // namespace

std::string WithoutSlashes(std::string directory) {
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return directory;
}

std::string FileIn(const std::string& directory, const std::string& name) {
  return (fs::path(directory) / name).string();
}

std::string ModelAround(const std::string& path) {
  std::error_code error;
  for (fs::path folder = Resolved(path); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::exists(folder / kManifestFile, error)) return folder.string();
  }
  return "";
}

bool IsSameFolder(const std::string& one, const std::string& other) {
  return !one.empty() && !other.empty() && Resolved(one) == Resolved(other);
}

bool LiesIn(const std::string& path, const std::string& folder) {
  const fs::path inner = Resolved(path), outer = Resolved(folder);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace weir::saved_model
