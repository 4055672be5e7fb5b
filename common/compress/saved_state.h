// What a policy remembers of a layer as bytes, so that training can go on where it ended: the
// residual, which any policy that keeps one can take over, and then what only the same rule
// understands.
//
// Place in the life of a batch: none; at the end of a run, and at the start of one that goes on.
// Thread rule: no other thread may be at the state.
#pragma once

#include <span>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/compress/policy.h"

namespace weir::compress {

// Appends what the policy remembers; nothing at all where there is nothing to remember.
// residual_elsewhere: of a layer whose residual is on a device (Scope::is_on_device).
void SaveState(const Policy& policy, PolicyState& state, std::span<const float> residual_elsewhere,
               Bytes* out);
inline void SaveState(const Policy& policy, PolicyState& state, Bytes* out) {
  SaveState(policy, state, {}, out);
}

// Whether anything that was not sent is in what SaveState wrote.
bool HasResidual(ByteSpan saved);

// Into a state that is new. of_same_rule: else the residual alone is taken over, if the policy
// keeps one, and all else begins anew. InvalidData when the bytes are not a state of so many
// elements; the state is of no use then.
Status LoadState(const Policy& policy, ByteSpan saved, bool of_same_rule,
                 std::span<float> residual_elsewhere, PolicyState* state);
inline Status LoadState(const Policy& policy, ByteSpan saved, bool of_same_rule,
                        PolicyState* state) {
  return LoadState(policy, saved, of_same_rule, {}, state);
}

}  // namespace weir::compress
