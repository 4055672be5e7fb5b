// Writes a cut down while its server goes on: section after section out of the strands, and each to
// a sink in the background.
//
// Place in the life of a batch: beside all of it.
// Thread rule: I/O thread only; the sink in the background, one call at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/bytes.h"
#include "common/base/executor.h"
#include "common/base/status.h"
#include "server/shard/cut_summary.h"
#include "server/shard/pending.h"
#include "server/shard/shard_cut.h"

namespace weir::server {

// What the sections go to. One that is not finished leaves nothing.
class CutSink {
 public:
  virtual ~CutSink() = default;
  virtual Status Append(Bytes section) = 0;
  virtual Status Finish(const CutSummary& summary) = 0;
};

class CutTaker {
 public:
  using OpenSink = std::function<Result<std::unique_ptr<CutSink>>()>;

  // wake: has Step called soon; any thread.
  CutTaker(Executor& executor, std::function<void()> wake);
  // Waits for what is at work in the background. The shard is still there.
  ~CutTaker();

  // Between two steps. open: in the background. may_finish: before then all is there but the
  // finish; empty: it always may.
  void Begin(Shard* shard, CutForm form, OpenSink open, std::function<bool()> may_finish = {});
  bool is_at_work() const { return is_at_work_; }
  bool holds_cut() const { return cut_ != nullptr; }
  // Often: goes on with what has come.
  void Step();
  // Gives up what is at work, and its cut at once, once the background has done what it has begun;
  // whether it has, in so long at most.
  bool AbandonWithin(int64_t patience_ms);
  // Unless all has been read: another wants a cut of the shard. Gives up what is at work as soon as
  // the background has done what it has begun.
  void YieldCut();
  // What the last one came to.
  const Status& outcome() const { return done_; }

 private:
  void Ask();
  void FinishIfItMay();
  void InBackground(std::function<Status()> work);
  void GiveUp();
  void End();

  Executor& executor_;
  const std::function<void()> wake_;
  // A strand may hand over what nobody waits for any more.
  const std::shared_ptr<Outbox> outbox_;
  bool is_at_work_ = false;
  std::unique_ptr<ShardCut> cut_;  // until it has been read
  CutSummary summary_;             // from then on
  std::shared_ptr<PendingSection> asked_;
  std::unique_ptr<CutSink> sink_;
  std::unique_ptr<Executor::Work> at_work_;
  std::function<bool()> may_finish_;
  Status done_;           // what the background came to
  bool has_all_ = false;  // sections
  bool is_whole_ = false;
  bool is_given_up_ = false;
};

}  // namespace weir::server
