// Which layers of a backward pass leave together: every schedule but the search for the best one,
// which is omgs.h.
//
// Place in the life of a batch: none; a run plans its pushes once, by times of its first steps.
// Thread rule: pure functions.
#pragma once

#include "common/schedule/push_times.h"

namespace weir::schedule {

// Every layer by itself, as soon as it is there.
Groups Immediate(const Costs& costs);

// All in one push, at the end of the backward pass.
Groups Single(const Costs& costs);

// A push is closed when the gradients of its layers have so many bytes, as floats and before
// anything is selected; what is left at the end is one more. Looks at no time. The rule that the
// published code of OMGS-SGD has switched on (that of MGS-SGD, Shi et al., INFOCOM 2019), with
// 8,192 elements. With 0 bytes it is Immediate.
Groups ByBytes(const Costs& costs, int64_t push_bytes);

// The algorithm of OMGS-SGD (Shi et al., INFOCOM 2020, section IV): in backward order, what waits
// takes in the next layer if that layer would be ready before the message of what waits has ended,
// and if the message, with its start, would not have ended before the two are selected together.
//
// Deviations, all where the paper contradicts itself or its code:
// - A merged layer costs nothing, neither the start of a message nor 0 * log 0.
// - Times after a merge are computed from the beginning of the step, so they are always those of
//   the pushes decided on; the paper leaves open where its function begins.
// - Layers without elements, which the paper has not, are merged with the next.
// - What computes slower while a message is under way, which the paper has not, is ready later.
// - Its published code merges more readily (it drops the first condition and weakens the second),
//   never decides on the last pair, and is switched off; we follow the text.
//
// The paper calls the result optimal. It is not: each decision looks at two neighbours alone
// (tests/common/schedule/omgs_test.cc has three layers that take 24.9 s, where 20 are possible).
// Aims at the end of the step; of periods it knows nothing.
Groups OmgsGreedy(const Costs& costs);

}  // namespace weir::schedule
