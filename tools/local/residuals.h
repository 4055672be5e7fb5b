// What the workers of a local run have not sent, on its way into the saved model: each writes its
// own (common/saved_model/policy_states.h) into a folder beside it, and when all have ended well
// that becomes the model's.
//
// Thread rule: one thread.
#pragma once

#include <string>

#include "common/base/status.h"
#include "tools/local/options.h"

namespace weir::tools {

// The folder beside; empty when no model is saved, or nothing is compressed.
std::string ResidualsBeside(const LocalOptions& options);

class Residuals {
 public:
  // Keeps options.
  explicit Residuals(const LocalOptions& options) : options_(options) {}
  // Takes away what was not moved.
  ~Residuals();
  Residuals(const Residuals&) = delete;
  Residuals& operator=(const Residuals&) = delete;

  // "what trainer-2 and trainer-3 had not sent ... is lost": of trainers that the run to go on from
  // had and this one has not. Empty when there are none.
  std::string LostText() const;

  // Into the saved model. Unavailable, with where they are, when that cannot be.
  Status Move();

 private:
  const LocalOptions& options_;
  bool is_moved_ = false;
};

}  // namespace weir::tools
