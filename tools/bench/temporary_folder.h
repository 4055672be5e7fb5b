// A folder for what a section writes; gone with the object.
//
// Thread rule: thread-compatible.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace weir::bench {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "weir-bench-XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;  // owns a folder
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }  // empty: there is none
  std::string File(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace weir::bench
