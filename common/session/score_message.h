// A test chunk's scores as a worker reports them: a part with a SCORES frame, and one more for
// those without masks where the completion says so.
//
// Place in the life of a batch: evaluation, worker -> coordinator.
// Thread rule: pure functions.
#pragma once

#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/eval/scores.h"
#include "common/proto/protocol.pb.h"

namespace weir::session {

// Also sets what the completion says of them.
Bytes WriteScores(const eval::Scores& scores, v1::Completion* completion);

// InvalidData when the part is not what the completion says.
Result<eval::Scores> ReadScores(const v1::Completion& completion, ByteSpan part);
// Those of each completion, in their order; none of one without. parts: one for each that has some,
// or InvalidData.
Result<std::vector<eval::Scores>> ReadAllScores(const v1::WorkRequest& request,
                                                std::span<const ByteSpan> parts);

}  // namespace weir::session
