#include "tools/bench/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "common/base/strings.h"

namespace weir::bench {
namespace {

std::mutex mutex;
std::set<std::string> folders;  // guarded by mutex

void Remove(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::Make() {
  const char* variable = std::getenv("TMPDIR");
  const std::string parent = variable != nullptr && *variable != '\0' ? variable : "/tmp";
  std::string path = parent + "/weir-bench-XXXXXX";
  const std::lock_guard lock(mutex);
  if (mkdtemp(path.data()) == nullptr) {
    return Unavailable(StrCat("cannot make a temporary folder in ", parent, ": ",
                              std::strerror(errno), "; set TMPDIR to where there is room"));
  }
  folders.insert(path);
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  const std::lock_guard lock(mutex);
  Remove(path_);
  folders.erase(path_);
}

void RemoveTemporaryFoldersForGood() {
  mutex.lock();  // and never given back
  for (const std::string& path : folders) Remove(path);
}

}  // namespace weir::bench
