// A trained model in a folder: what is needed to read new rows, to go on training, and to know
// where it comes from.
//
//   manifest.textproto   v1::SavedModelManifest: config, learned columns, steps
//   parameters.weir      frames (docs/reference/wire_format.md) of every piece and every row; or,
//                        of a model that servers have saved, parameters-<i>-of-<n>.weir, each one's
//   residuals/           of a compressed run: what its workers had not sent (policy_states.h);
//                        put there once the rest is
//
// The folder is written aside (writer.h) and renamed when all of it is on disk, so that whoever
// finds it finds all of it. A folder of the name that was there before is replaced by then.
//
// Place in the life of a batch: none; at the end of a run, and at the start of others.
// Thread rule: thread-compatible.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/proto/saved_model.pb.h"
#include "common/saved_model/frames.h"
#include "common/saved_model/mapped_file.h"
#include "common/saved_model/parts.h"

namespace weir::saved_model {

inline constexpr const char* kManifestFile = "manifest.textproto";
inline constexpr const char* kResidualsName = "residuals";

// Of the model in the folder.
std::string ResidualsFolder(const std::string& directory);

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
  const std::string& directory() const { return directory_; }
  std::string residuals_folder() const { return ResidualsFolder(directory_); }

  // Each piece once, and rows, with the state of the config's update rules. Rows lie in the mapped
  // file and stay as long as this. InvalidData, with the file, when that is not so.
  Status Visit(const Visitor& visitor) const;

 private:
  class Progress;
  struct Found;

  SavedModel(std::string directory, v1::SavedModelManifest manifest, std::vector<MappedFile> files);
  static Result<std::unique_ptr<SavedModel>> OpenOnce(const std::string& directory);
  Status VisitFile(const ParametersFile& file, ByteSpan bytes, const Visitor& visitor,
                   Found* found) const;

  const std::string directory_;
  const v1::SavedModelManifest manifest_;
  const std::unique_ptr<const ModelLayout> layout_;
  const std::vector<MappedFile> files_;  // as ParametersFiles has them
};

}  // namespace weir::saved_model
