// What the policies of workers remember of layers and tables, above all what they have not sent,
// in the folder `residuals` of a saved model:
//
//   trainer-<t>.weir            frames (common/wire/FORMAT.md), of a worker that ran all stages
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
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/proto/policy_state.pb.h"

namespace weir::saved_model {

// Of one layer or table; borrowed until the call returns. header.format is filled in when written.
using TakeState = std::function<Status(const v1::PolicyStateHeader& header, ByteSpan state)>;

// Writes the file of a worker, aside until all of it is on disk; makes the folder. states: calls
// what it is given for each. Unavailable when it cannot be written.
Status WritePolicyStates(const std::string& folder, uint32_t trainer, std::optional<uint32_t> stage,
                         const std::function<Status(const TakeState& take)>& states);

// Visits what the folder has of the trainer; nothing when there is no such folder. InvalidData with
// the file when one is damaged, or take refuses.
Status VisitPolicyStates(const std::string& folder, uint32_t trainer, const TakeState& take);

// The trainers that the folder has files of, ascending.
std::vector<uint32_t> TrainersWithStates(const std::string& folder);

}  // namespace weir::saved_model
