// Whether what must go in one message fits into one: a server's dense parameters, all of which the
// first answer carries (and one that carries nearly all of them names them too), the rows of a
// batch, the scores of test chunks, and what crosses a split between two stages for a batch.
//
// Thread rule: pure function.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"

namespace weir {

// The least rows of a slice of a batch, each of which is a frame, but for the last slice.
inline constexpr int64_t kLeastSliceRows = 32;
// Rows of a slice at whose borders something crosses a split, but for a batch's last: each is a
// frame.
inline constexpr int64_t kSplitRows = 128;
static_assert(kSplitRows >= kLeastSliceRows);

// InvalidConfig that names cluster.max_message_bytes and the least value that will do.
Status CheckMessageBound(const v1::Config& config, const ModelLayout& layout);

// The most bytes that a message between two stages of a trainer can take, when each is a process.
int64_t LargestLinkMessage(const v1::Config& config, const ModelLayout& layout);
// InvalidConfig as above of the links between them.
Status CheckLinkMessageBound(const v1::Config& config, const ModelLayout& layout);

}  // namespace weir
