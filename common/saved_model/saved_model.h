// A trained model in a folder: what is needed to read new rows, to go on training, and to know
// where it comes from.
//
//   manifest.textproto   v1::SavedModelManifest: config, learned columns, steps
//   parameters.weir      frames (docs/reference/wire_format.md) of every piece and every row
//   residuals/           of a compressed run: what its workers had not sent (policy_states.h);
//                        put there once the rest is
//
// The folder is written aside and renamed when all of it is on disk, so that whoever finds it finds
// all of it. A folder of the name that was there before is replaced by then.
//
// Place in the life of a batch: none; at the end of a run, and at the start of others.
// Thread rule: thread-compatible.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/bytes.h"
#include "common/base/file_writer.h"
#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/proto/saved_model.pb.h"
#include "common/saved_model/frames.h"
#include "common/wire/checksum.h"

namespace weir::saved_model {

inline constexpr const char* kManifestFile = "manifest.textproto";

// Of the model in the folder.
std::string ResidualsFolder(const std::string& directory);

// A name that is free, for where this process gathers them until the model is there:
// DIR.residuals-<its number>, and perhaps more.
std::string ResidualsAside(const std::string& directory);

// What runs that save to the folder have left beside it, where they were killed, or write there
// now: "DIR.partial-1234 is there, ...". Empty if there is nothing. It may be all that is left of a
// model, so nothing takes it away.
std::string DescribeLeftAside(const std::string& directory);

// Folders beside it with what was to become the model there.
std::vector<std::string> PartialModels(const std::string& directory);

class Writer {
 public:
  // FailedPrecondition when the folder is there and is no saved model, or lies in one, Unavailable
  // when it cannot be written. What another process has left beside it is not touched.
  static Result<std::unique_ptr<Writer>> Create(const std::string& directory);
  // Takes away what was not finished.
  ~Writer();
  // The same, on any thread, while another may be writing: the process is about to end.
  void Discard() const;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Whole frames.
  Status Append(ByteSpan frames) {
    checksum_.Append(frames);
    return parameters_.Append(frames);
  }
  // manifest: format, what tells of parameters.weir, and id are filled in.
  Status Finish(v1::SavedModelManifest manifest);

 private:
  Writer(std::string directory, std::string aside, FileWriter parameters);
  Status WriteManifest(const v1::SavedModelManifest& manifest);
  Status Rename();

  const std::string directory_;
  const std::string aside_;
  FileWriter parameters_;
  wire::Checksum checksum_;  // of parameters_
  std::atomic<bool> finished_{false};
};

class SavedModel {
 public:
  // InvalidData with the file when the folder is incomplete, damaged or of another version. While a
  // run saves there it is the older model or the newer one, where folders can change places.
  static Result<std::unique_ptr<SavedModel>> Open(const std::string& directory);
  ~SavedModel();
  SavedModel(const SavedModel&) = delete;
  SavedModel& operator=(const SavedModel&) = delete;

  const v1::SavedModelManifest& manifest() const { return manifest_; }
  const v1::Config& config() const { return manifest_.config(); }
  // Of the model, as if one server had it all.
  const ModelLayout& layout() const { return *layout_; }
  std::string residuals_folder() const { return ResidualsFolder(directory_); }

  // Each piece once, and rows, with the state of the config's update rules. Rows lie in the mapped
  // file and stay as long as this. InvalidData, with the file, when that is not so.
  Status Visit(const Visitor& visitor) const;

 private:
  class Progress;

  SavedModel(std::string directory, v1::SavedModelManifest manifest, ByteSpan parameters);
  static Result<std::unique_ptr<SavedModel>> OpenOnce(const std::string& directory);

  const std::string directory_;
  const v1::SavedModelManifest manifest_;
  const std::unique_ptr<const ModelLayout> layout_;
  const ByteSpan parameters_;  // mapped
};

}  // namespace weir::saved_model
