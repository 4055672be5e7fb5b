// What the policies of workers remember of layers and tables, above all what they have not sent,
// in the folder `residuals` of a saved model:
//
//   trainer-<t>.weir            frames (docs/reference/wire_format.md), of a worker of all stages
//   trainer-<t>-stage-<s>.weir  of one that ran one
//
// Each worker writes its own file, and reads all of its trainer, for the stages may be others now.
//
// Place in the life of a batch: none; at the end of a run, and before the first of another.
// Thread rule: any thread; one worker for a file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/proto/policy_state.pb.h"

namespace weir::saved_model {

// Whose file it is, and of which run (SavedModelManifest.run).
struct StatesOwner {
  uint32_t trainer = 0;
  std::optional<uint32_t> stage = {};  // none: all of them
  uint64_t run = 0;
};

// Of one layer or table; borrowed until the call returns. Format and run are filled in when
// written.
using TakeState = std::function<Status(const v1::PolicyStateHeader& header, ByteSpan state)>;

// Copies, in memory.
using KeptStates = std::vector<std::pair<v1::PolicyStateHeader, Bytes>>;

// Makes the folder. Unavailable when it cannot be written to.
Status PrepareStatesFolder(const std::string& folder);

// Writes the file of a worker, aside until all of it is on disk. states: calls what it is given for
// each. Unavailable when it cannot be written.
Status WritePolicyStates(const std::string& folder, const StatesOwner& owner,
                         const std::function<Status(const TakeState& take)>& states);

// Visits what the folder has of the trainer; nothing when there is no such folder. InvalidData with
// the file when one is damaged or of another run, or take refuses.
Status VisitPolicyStates(const std::string& folder, uint32_t trainer, uint64_t run,
                         const TakeState& take);

// The trainers that the folder has files of, ascending; none when there is no such folder.
Result<std::vector<uint32_t>> TrainersWithStates(const std::string& folder);

// "trainer-0.weir", "trainer-1-stage-2.weir".
std::string StatesFileName(uint32_t trainer, std::optional<uint32_t> stage);

// Whether the folder holds such files, finished or not, and nothing else.
bool HoldsStatesAlone(const std::string& folder);

}  // namespace weir::saved_model
