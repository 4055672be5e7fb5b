#include "server/shard/cut_taker.h"

#include <exception>
#include <new>
#include <utility>

#include "common/base/check.h"

namespace weir::server {
namespace {

Status TryWork(const std::function<Status()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("not enough memory to write the parameters down");
  } catch (const std::exception& exception) {  // of a library, where the machine lacks something
    return ResourceExhausted(exception.what());
  }
}

}  // namespace

CutTaker::CutTaker(Executor& executor, std::function<void()> wake)
    : executor_(executor), wake_(std::move(wake)), outbox_(std::make_shared<Outbox>(wake_)) {}

CutTaker::~CutTaker() {
  if (at_work_) at_work_->Wait();
}

void CutTaker::Begin(Shard* shard, CutForm form, OpenSink open, std::function<bool()> may_finish) {
  CHECK(!is_at_work());
  is_at_work_ = true;
  cut_ = std::make_unique<ShardCut>(shard, form);
  may_finish_ = std::move(may_finish);
  has_all_ = is_whole_ = is_given_up_ = false;
  InBackground([this, open = std::move(open)] {
    auto sink = open();
    Status status = sink.status();
    if (status.ok()) sink_ = *std::move(sink);
    return status;
  });
}

void CutTaker::InBackground(std::function<Status()> work) {
  at_work_ = executor_.Begin([this, work = std::move(work)] {
    done_ = TryWork(work);
    wake_();
  });
}

void CutTaker::Step() {
  if (!is_at_work()) return;
  if (at_work_) {
    if (!at_work_->EndsWithin(0)) return;
    at_work_.reset();
    if (is_given_up_) return GiveUp();
    if (!done_.ok() || is_whole_) return End();
    return Ask();
  }
  if (has_all_) return FinishIfItMay();
  for (const auto& section : outbox_->TakeAll().sections) {
    if (section != asked_) continue;  // of a cut that was given up
    done_ = section->status;
    if (!done_.ok()) return End();
    if (section->frames.empty()) return Ask();
    InBackground([this, section] { return sink_->Append(std::move(section->frames)); });
  }
}

void CutTaker::Ask() {
  asked_ = cut_->Ask(outbox_);
  if (asked_ != nullptr) return;
  has_all_ = true;
  summary_ = cut_->summary();
  cut_.reset();
  FinishIfItMay();
}

void CutTaker::FinishIfItMay() {
  if (may_finish_ && !may_finish_()) return;
  is_whole_ = true;
  InBackground([this] { return sink_->Finish(summary_); });
}

bool CutTaker::AbandonWithin(int64_t patience_ms) {
  if (!is_at_work()) return true;
  asked_.reset();
  cut_.reset();
  is_given_up_ = true;
  if (at_work_ && !at_work_->EndsWithin(patience_ms)) return false;
  at_work_.reset();
  GiveUp();
  return true;
}

// The cut goes at once; a disk that does not answer may hold up the rest.
void CutTaker::YieldCut() {
  if (cut_ == nullptr) return;
  asked_.reset();
  cut_.reset();
  is_given_up_ = true;
  if (!at_work_) GiveUp();
}

void CutTaker::GiveUp() {
  done_ = Interrupted("given up");
  End();
}

void CutTaker::End() {
  is_at_work_ = false;
  asked_.reset();
  sink_.reset();
  cut_.reset();
}

}  // namespace weir::server
