// What servers say all trainers of a round have agreed on.
//
// Place in the life of a batch: propose -> **union** -> take -> encode -> push.
// Thread rule: a pure function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/session/body.h"
#include "worker/link/agreed_pieces.h"

namespace weir::worker {

// replies: of each server ELEMENT_IDS frames, of pieces of its own, each once at most. name: of a
// server, for messages.
Result<AgreedPieces> ReadAgreed(const ModelLayout& layout,
                                const std::vector<session::Body>& replies,
                                const std::function<std::string(size_t server)>& name);

}  // namespace weir::worker
