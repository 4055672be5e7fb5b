// Which checkpoint (checkpoint_folder.h) a process goes on from.
//
// Place in the life of a batch: before the first of a run that goes on.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"

namespace weir::saved_model {

// Where the checkpoint is that a run goes on from: the path itself, or the newest in it that is
// whole. InvalidData, and what is wrong with each, when there is none.
Result<std::string> FindCheckpoint(const std::string& path);

// The same, where more is known.
struct CheckpointChoice {
  std::string path;  // of a checkpoint, or of several
  // Where the path is a folder that has none, the run begins.
  bool may_be_none = false;
  // What the run has begun with that this process belongs to, which may be older than the newest
  // by now: its id, 0: nothing.
  std::optional<uint64_t> begun_with = {};
};
// Empty: the run begins, or has begun, with nothing.
Result<std::string> ChooseCheckpoint(const CheckpointChoice& choice);

}  // namespace weir::saved_model
