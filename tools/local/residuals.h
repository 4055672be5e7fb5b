// What the workers of a local run have not sent, on its way into the saved model: each writes its
// own (common/saved_model/policy_states.h) into a folder beside it, and when all have ended that
// becomes the model's.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "tools/local/options.h"

namespace weir::tools {

class Residuals {
 public:
  // Keeps options.
  explicit Residuals(const LocalOptions& options);
  // Takes away what was not moved, unless it belongs to a model that is there under another name.
  ~Residuals();
  Residuals(const Residuals&) = delete;
  Residuals& operator=(const Residuals&) = delete;

  // Where workers write theirs, beside the model; empty when none is saved, or training is
  // embedded.
  const std::string& folder() const { return beside_; }

  // What the run before had not sent and this one cannot, a line each: of trainers that it has not,
  // of layers and tables whose rule in config keeps nothing, of files that are missing.
  std::vector<std::string> Losses(const v1::Config& config) const;

  // Into the saved model, if this run has saved it, however the run ended. missing: says which
  // workers ended without leaving theirs, and the model has come; empty if none did. Unavailable,
  // with where they are, when that cannot be, or the model is beside its folder.
  Status Move(std::string* missing);

  // The model in the folder is another than when the run began: it is this run's, whatever became
  // of its processes then.
  bool HasModelCome() const;

 private:
  // To the one of that folder.
  bool BelongTo(const std::string& directory) const;
  std::string MissingText() const;

  const LocalOptions& options_;
  const std::string beside_;
  const uint64_t earlier_model_;  // the one that is there when the run begins; 0: none
  bool is_moved_ = false;
};

}  // namespace weir::tools
