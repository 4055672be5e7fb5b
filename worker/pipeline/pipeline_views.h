// What the coordinator last said of the pipeline, on its way from the link to the servers, which is
// there first, to the stage, which comes later.
//
// Place in the life of a batch: before it.
// Thread rule: any thread. Watch once; the watcher is called from the thread that sets, and
// outlives whoever does.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "common/base/mutex.h"
#include "common/proto/protocol.pb.h"

namespace weir::worker {

class PipelineViews {
 public:
  using Watcher = std::function<void(const v1::PipelineView&)>;

  void Set(const v1::PipelineView& view) {
    MutexLock lock(mutex_);
    last_ = view;
    if (watcher_) watcher_(view);
  }

  // Hears the last one at once, if there was any. Null: nobody listens any more, and the watcher is
  // not being called.
  void Watch(Watcher watcher) {
    MutexLock lock(mutex_);
    watcher_ = std::move(watcher);
    if (watcher_ && last_) watcher_(*last_);
  }

 private:
  Mutex mutex_;
  std::optional<v1::PipelineView> last_ WEIR_GUARDED_BY(mutex_);
  Watcher watcher_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::worker
