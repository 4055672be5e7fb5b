// Whether a server's dense parameters fit into one message: the first answer carries all of them,
// and one that carries nearly all of them names them too.
//
// Thread rule: pure function.
#pragma once

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"

namespace weir {

// InvalidConfig that names cluster.max_message_bytes and the least value that will do.
Status CheckMessageBound(const v1::Config& config, const ModelLayout& layout);

}  // namespace weir
