// Rows that trainers want behind pushes that wait for their round, as they are once that is closed.
//
// Place in the life of a batch: row pull -> **wait for the push before it** -> strands.
// Thread rule: I/O thread only.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/transport.h"

namespace weir::server {

class KeptPulls {
 public:
  struct Pull {
    transport::PeerId peer;
    v1::RowPull pull;
    transport::Message message;
  };

  // Behind the trainer's push; or says why not, to whoever sent it.
  Status Keep(uint32_t trainer, Pull pull);
  // Its push is on its way again, and what is behind it.
  void Drop(uint32_t trainer) { pulls_.erase(trainer); }
  // In the order in which they came.
  std::vector<Pull> Take(uint32_t trainer);

 private:
  std::map<uint32_t, std::vector<Pull>> pulls_;  // by trainer
};

}  // namespace weir::server
