// A test chunk's scores as a worker reports them: a part with a SCORES frame, and one more for
// those without masks where the completion says so.
//
// Place in the life of a batch: evaluation, worker -> coordinator.
// Thread rule: pure functions.
#pragma once

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/eval/scores.h"
#include "common/proto/protocol.pb.h"

namespace weir::session {

// Also sets what the completion says of them.
Bytes WriteScores(const eval::Scores& scores, v1::Completion* completion);

// InvalidData when the part is not what the completion says.
Result<eval::Scores> ReadScores(const v1::Completion& completion, ByteSpan part);

}  // namespace weir::session
