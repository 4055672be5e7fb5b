// Writes a saved model (saved_model.h): the folder aside, in which its files come to be, and its
// taking the place of the one that was there.
//
// Place in the life of a batch: none; at the end of a run.
// Thread rule: thread-compatible, and Discard from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/proto/saved_model.pb.h"
#include "common/saved_model/folder_owner.h"
#include "common/saved_model/parts.h"
#include "common/saved_model/saved_model.h"

namespace weir::saved_model {

// A name that is free, for where this process gathers them until the model is there:
// DIR.residuals-<its number>, and perhaps more.
std::string ResidualsAside(const std::string& directory);

// What runs that save to the folder have left beside it, where they were killed, or write there
// now: "DIR.partial-1234 is there, ...". Empty if there is nothing. It may be all that is left of a
// model, so nothing takes it away unless its process is gone for certain and it holds no model.
std::string DescribeLeftAside(const std::string& directory);

// Folders beside it with what was to become the model there.
std::vector<std::string> PartialModels(const std::string& directory);

// Where the servers of a run write their parts of the model that is to be in `directory`:
// DIR.partial-run-<the run's number>.
std::string FolderOfRun(const std::string& directory, uint64_t run);

// The folder aside.
class ModelFolder {
 public:
  // FailedPrecondition when the folder is there and is no saved model, or lies in one, Unavailable
  // when it cannot be written. What a process has left beside it that is gone for certain
  // (FolderOwner) is taken away; anything else is not touched.
  static Result<std::unique_ptr<ModelFolder>> Create(const std::string& directory);
  // The same, as FolderOfRun names it: that which an earlier life of this process has left, with
  // the parts that are there, or a new one.
  static Result<std::unique_ptr<ModelFolder>> CreateForRun(const std::string& directory,
                                                           uint64_t run);
  // Takes away what was not finished.
  ~ModelFolder();
  // The same, while another thread may be writing: the process is about to end.
  void Discard() const;
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  const std::string& path() const { return aside_; }

  // Unavailable where so many bytes, of what the model takes at least, have no room on its disk.
  Status CheckRoom(uint64_t least_bytes) const;

  // The files that the manifest tells of (ParametersFiles) are there and on disk; with it they take
  // the model's place. manifest: format and id are filled in.
  Status Finish(v1::SavedModelManifest manifest);

 private:
  ModelFolder(std::string directory, std::string aside, std::optional<FolderOwner> owner);
  static Status Look(const std::string& target);
  static Result<std::unique_ptr<ModelFolder>> Make(const std::string& target,
                                                   const std::string& first, int most);
  Status CheckFiles(const v1::SavedModelManifest& manifest) const;
  Status WriteManifest(const v1::SavedModelManifest& manifest);
  Status Rename();

  const std::string directory_;
  const std::string aside_;
  std::optional<FolderOwner> owner_;
  std::atomic<bool> finished_{false};
};

// A model of one file.
class Writer {
 public:
  // Fails as ModelFolder::Create does.
  static Result<std::unique_ptr<Writer>> Create(const std::string& directory);
  const std::string& path() const { return folder_->path(); }  // of the folder aside
  void Discard() const { folder_->Discard(); }
  Status CheckRoom(uint64_t least_bytes) const { return folder_->CheckRoom(least_bytes); }

  // Whole frames.
  Status Append(ByteSpan frames) { return parameters_->Append(frames); }
  // manifest: format, what tells of parameters.weir, and id are filled in.
  Status Finish(v1::SavedModelManifest manifest);

 private:
  Writer(std::unique_ptr<ModelFolder> folder, std::unique_ptr<PartWriter> parameters)
      : folder_(std::move(folder)), parameters_(std::move(parameters)) {}

  const std::unique_ptr<ModelFolder> folder_;
  const std::unique_ptr<PartWriter> parameters_;
};

}  // namespace weir::saved_model
