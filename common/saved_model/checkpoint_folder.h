// Checkpoints in their folder: each is a saved model (saved_model.h) of one moment of a run, with
// where the run was:
//
//   checkpoint-000001/   manifest.textproto with `checkpoint`, parameters, residuals, and
//     progress.weir      what the coordinator knew: what of the data was trained, evaluations,
//     counts
//   best                 a link to the one with the least test logloss
//
// Each is written aside and renamed when it is whole, so whoever finds one finds all of it.
//
// Place in the life of a batch: beside all of it, and before the first of a run that goes on.
// Thread rule: any thread; one process writes to a folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/file_system.h"
#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "common/proto/saved_model.pb.h"
#include "common/saved_model/saved_model.h"

namespace weir::saved_model {

// In the folder.
std::string CheckpointPath(const std::string& folder, uint64_t number);

// The numbers of those in the folder, whole or not, the newest first; and of that, 0: there is
// none. Of a folder that cannot be read: as if there were none, or Unavailable.
std::vector<uint64_t> CheckpointsIn(const std::string& folder);
Result<uint64_t> LastCheckpoint(const std::string& folder);

// Makes the folder, for one run at a time: FailedPrecondition where a process of another writes
// there, as far as the storage tells.
Result<std::unique_ptr<FolderClaim>> ClaimCheckpoints(const std::string& folder);

// Parts of the run's state by their names (cluster/saved_parts.h).
using RunParts = std::map<std::string, Bytes, std::less<>>;

// Into the folder of one that comes to be; it is on disk then. Returns its XXH3.
Result<uint64_t> WriteProgress(const std::string& checkpoint, const RunParts& parts);
// InvalidData with the file when it is not the one that the manifest tells of.
Result<RunParts> ReadProgress(const std::string& checkpoint, const v1::CheckpointFacts& facts);

// The same, of one that is to go on under this config. InvalidConfig where its data are other ones,
// or cut otherwise: where it was in its data tells nothing of others.
Result<RunParts> ReadProgressFor(const v1::Config& config, const SavedModel& checkpoint);

// Of those with the newest one's lineage removes all but the newest `keep`, the best, to which
// `best` leads then, and the one from which the run goes on (its id; 0: from none), for who is
// started again; and what this run has left aside of earlier ones. What cannot be removed stays.
struct Tidying {
  uint64_t keep = 1;
  uint64_t run = 0;
  uint64_t begun_with = 0;
};
Status TidyCheckpoints(const std::string& folder, const Tidying& tidying);

}  // namespace weir::saved_model
