#include "common/saved_model/folder_owner.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "common/saved_model/places.h"
#include "common/saved_model/saved_model.h"

namespace weir::saved_model {
namespace {

constexpr const char* kOwnerFile = ".owner";

// Another machine's lock may not be seen here, and one's before it was started anew is gone without
// a trace: so the file says of which life of which machine it is. Empty if that is not known.
std::string MachineLife() {
  std::string life;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), life);
  return life;
}

std::string TextOf(const std::string& path) {
  std::string text;
  std::getline(std::ifstream(path), text);
  return text;
}

}  // namespace

std::optional<FolderOwner> FolderOwner::Of(const std::string& folder) {
  const std::string path = FileIn(folder, kOwnerFile), life = MachineLife();
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return std::nullopt;
  FolderOwner owner(path, file);
  const auto size = static_cast<ssize_t>(life.size());
  if (flock(file, LOCK_EX | LOCK_NB) == 0 && write(file, life.data(), life.size()) == size) {
    return owner;
  }
  owner.GiveUp();
  return std::nullopt;
}

std::optional<FolderOwner> FolderOwner::InPlaceOfTheGone(const std::string& folder) {
  std::error_code error;
  const std::string path = FileIn(folder, kOwnerFile), life = MachineLife();
  if (life.empty() || TextOf(path) != life) return std::nullopt;
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  FolderOwner owner(path, file);
  if (flock(file, LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  // Once it is locked nobody else makes a model of it.
  if (std::filesystem::exists(FileIn(folder, kManifestFile), error)) return std::nullopt;
  return owner;
}

void FolderOwner::GiveUp() {
  if (file_ < 0) return;
  unlink(path_.c_str());
  close(std::exchange(file_, -1));
}

FolderOwner::FolderOwner(FolderOwner&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

FolderOwner::~FolderOwner() {
  if (file_ >= 0) close(file_);
}

}  // namespace weir::saved_model
