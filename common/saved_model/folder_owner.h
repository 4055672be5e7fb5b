// Whose a folder aside is, while a saved model is written there: a file in it that its process has
// locked as long as it lives. So who comes later is certain that a process is gone, and needs not
// guess by its number.
//
// Place in the life of a batch: none; at the end of a run.
// Thread rule: thread-compatible.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace weir::saved_model {

class FolderOwner {
 public:
  // Of a folder that this process has made. Nothing where files cannot be locked.
  static std::optional<FolderOwner> Of(const std::string& folder);
  // In place of one that is gone for certain: of this machine since it was started, and its lock is
  // free. Nothing otherwise, and of a folder in which a model is whole.
  static std::optional<FolderOwner> InPlaceOfTheGone(const std::string& folder);

  // The folder is to be a model's, which has no such file.
  void GiveUp();

  FolderOwner(FolderOwner&& other) noexcept;
  FolderOwner& operator=(FolderOwner&&) = delete;
  ~FolderOwner();

 private:
  FolderOwner(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_;  // -1: moved from, or given up
};

}  // namespace weir::saved_model
