// What others want to know of what workers send to a dispatcher. Each may be empty.
//
// Place in the life of a batch: beside **number**.
// Thread rule: called on the I/O thread.
#pragma once

#include <cstdint>
#include <functional>

#include "common/cluster/membership.h"
#include "common/proto/protocol.pb.h"
#include "server/shard/pending.h"

namespace weir::server {

struct DispatchListeners {
  // Whether server 0 has let in this process of the seat, and none since. Empty: all may come.
  std::function<bool(cluster::Seat seat, uint64_t incarnation)> is_granted = {};
  // Something has come on the connection of this incarnation.
  std::function<void(cluster::Seat seat, uint64_t incarnation)> heard = {};
  // A push was queued, as this step of its stage: how far its lease has come.
  std::function<void(cluster::Seat seat, const v1::Push& push, uint64_t step)> offset = {};
  // What strands have scaled down of a trainer's push, or nothing.
  std::function<void(uint32_t trainer, const BoundedParts& parts)> bounded = {};
  // The parameters are to be in this checkpoint as they are now.
  std::function<void(uint64_t number)> checkpoint = {};
  // The model is pulled, for which the shard is to be cut: whether it may be now. Asked until it
  // is.
  std::function<bool()> may_cut = {};
};

}  // namespace weir::server
