#include "common/cluster/saver_watch.h"

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::cluster {

void SaverWatch::OnJoin(bool expects_model) {
  is_expected_ = expects_model;
  missing_since_ms_.reset();
}

void SaverWatch::Tick(bool is_over, bool has_saver, int64_t now_ms) {
  const bool has_time = !is_over || has_saver || awaits_servers();
  if (has_time || !awaits() || !loss_.empty()) return missing_since_ms_.reset();
  if (!missing_since_ms_) {
    missing_since_ms_ = now_ms;
    LOG(WARNING) << "the run is over, and the worker with --save is not here: waiting for it for "
                 << timeout_ms_ << " ms (cluster.join_timeout_ms)";
  }
  if (now_ms - *missing_since_ms_ <= timeout_ms_) return;
  const std::string after = last_failure_.empty() ? "" : StrCat(last_failure_, "; ");
  Lose(StrCat(after, "no worker with --save came within ", timeout_ms_,
              " ms of the end (cluster.join_timeout_ms): the model is not saved"));
}

void SaverWatch::Lose(std::string reason) {
  if (loss_.empty()) loss_ = std::move(reason);
}

}  // namespace weir::cluster
