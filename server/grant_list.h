// Which process of each seat server 0 has let in, as another server hears it: one thread is told,
// and another asks.
//
// Place in the life of a batch: before all of it (**hello**).
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "common/base/mutex.h"
#include "common/cluster/membership.h"
#include "common/proto/protocol.pb.h"

namespace weir::server {

class GrantList {
 public:
  // All so far, as a report's reply has them.
  void Set(const v1::ShardReply& reply);
  // Whether this is the last one that was let in. If not, it may be that this was not heard yet:
  // server 0 is to be asked at once.
  bool Has(cluster::Seat seat, uint64_t incarnation);

  // Has is asked of one that is not known: calls that, from its thread. Empty: nobody any more.
  void OnWish(std::function<void()> wake);
  bool has_wish() const;
  void ClearWish();

 private:
  mutable Mutex mutex_;
  std::map<cluster::Seat, uint64_t> incarnations_ WEIR_GUARDED_BY(mutex_);
  bool has_wish_ WEIR_GUARDED_BY(mutex_) = false;
  std::function<void()> wake_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::server
