// The servers that make or load their parameters, shard 0 too, as the coordinator hears of them.
//
// Place in the life of a batch: before the first.
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstdint>
#include <map>

#include "common/proto/protocol.pb.h"

namespace weir::server {

class LoadingBook {
 public:
  void Take(uint32_t server, const v1::Loading& loading) { servers_[server] = {loading, false}; }
  // It has its parameters.
  void Finish(uint32_t server);

  bool is_any() const;
  // Of all that have ever loaded: what one has done stays done when it is finished, so the sum
  // grows as long as any of them progresses.
  v1::Loading sum() const;

  struct Slowest {
    uint32_t server = 0;
    v1::Loading loading;
  };
  // Of those that load: the one that has most to do. Call it when there is any.
  Slowest slowest() const;

 private:
  struct Entry {
    v1::Loading loading;
    bool is_finished = false;
  };

  std::map<uint32_t, Entry> servers_;
};

}  // namespace weir::server
