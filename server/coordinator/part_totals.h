// What servers have written of a model, in its manifest.
//
// Place in the life of a batch: none.
// Thread rule: a function of its arguments.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/proto/protocol.pb.h"
#include "common/proto/saved_model.pb.h"

namespace weir::server {

// parts: by server.
template <typename Parts>
void AddParts(const Parts& parts, v1::SavedModelManifest* manifest) {
  uint64_t bytes = 0, steps = 0, row_steps = 0;
  for (const auto& [server, report] : parts) {
    v1::SavedPart& part = *manifest->add_parts();
    part.set_bytes(report.written_bytes());
    part.set_checksum(report.checksum());
    bytes += report.written_bytes();
    steps = std::max<uint64_t>(steps, report.steps());
    row_steps = std::max<uint64_t>(row_steps, report.row_steps());
  }
  manifest->set_parameter_bytes(bytes);
  manifest->set_steps(steps);
  manifest->set_row_steps(row_steps);
}

}  // namespace weir::server
