// What is asked of servers beside pushes: for compute threads.

#include <utility>

#include "common/base/check.h"
#include "worker/link/server_link.h"

namespace weir::worker {

void ServerLink::SubmitRowPull(RowRequest* request) {
  {
    MutexLock lock(mutex_);
    SubmitRowPullLocked(request);
  }
  transport_->Wake();
}

void ServerLink::SubmitRowPullLocked(RowRequest* request) {
  CHECK_EQ(request->bodies.size(), peers_.size());
  const uint64_t id =
      outstanding_.AddPull(std::move(request->bodies), request->read_only, clock_.NowMs());
  commands_.emplace_back([this, id](size_t i) {
    SendRequest(i, [&]() WEIR_REQUIRES(mutex_) { return outstanding_.PullFor(i, id); });
  });
  request->id = id;
}

Result<std::vector<Body>> ServerLink::AwaitRowReplies(uint64_t request_id) {
  MutexLock lock(mutex_);
  while (failure_.ok() && !outstanding_.PullIsDone(request_id)) changed_.Wait(lock);
  if (!failure_.ok()) return failure_;
  return outstanding_.TakePull(request_id);
}

std::optional<std::vector<Body>> ServerLink::TryTakeRowReplies(uint64_t request_id) {
  MutexLock lock(mutex_);
  if (!failure_.ok() || !outstanding_.PullIsDone(request_id)) return std::nullopt;
  return outstanding_.TakePull(request_id);
}

void ServerLink::ForgetRowPull(uint64_t request_id) {
  MutexLock lock(mutex_);
  outstanding_.DropPull(request_id);
}

Result<ServerLink::Agreed> ServerLink::Propose(v1::Proposal proposal, std::vector<Body> bodies) {
  const uint64_t id = SubmitProposal(std::move(proposal), std::move(bodies));
  MutexLock lock(mutex_);
  while (failure_.ok() && !outstanding_.PullIsDone(id)) changed_.Wait(lock);
  if (!failure_.ok()) return failure_;
  return TakeAgreedLocked(id);
}

uint64_t ServerLink::SubmitProposal(v1::Proposal proposal, std::vector<Body> bodies) {
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    id = outstanding_.AddProposal(std::move(bodies), std::move(proposal), clock_.NowMs());
    commands_.emplace_back([this, id](size_t i) {
      SendRequest(i, [&]() WEIR_REQUIRES(mutex_) { return outstanding_.PullFor(i, id); });
    });
  }
  transport_->Wake();
  return id;
}

std::optional<ServerLink::Agreed> ServerLink::TryTakeAgreed(uint64_t proposal_id) {
  MutexLock lock(mutex_);
  if (!failure_.ok() || !outstanding_.PullIsDone(proposal_id)) return std::nullopt;
  return TakeAgreedLocked(proposal_id);
}

ServerLink::Agreed ServerLink::TakeAgreedLocked(uint64_t proposal_id) {
  Agreed agreed;
  agreed.replies = outstanding_.TakePull(proposal_id, &agreed.words);
  return agreed;
}

uint64_t ServerLink::SubmitProbe(std::vector<Body> bodies) {
  CHECK_EQ(bodies.size(), peers_.size());
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    id = outstanding_.AddProbe(std::move(bodies), clock_.NowMs());
    commands_.emplace_back([this, id](size_t i) {
      SendRequest(i, [&]() WEIR_REQUIRES(mutex_) { return outstanding_.PullFor(i, id); });
    });
  }
  transport_->Wake();
  return id;
}

Result<double> ServerLink::AwaitProbe(uint64_t id) {
  MutexLock lock(mutex_);
  while (failure_.ok() && !outstanding_.PullIsDone(id)) changed_.Wait(lock);
  if (!failure_.ok()) return failure_;
  return outstanding_.TakeProbe(id);
}

Result<Outstanding::Section> ServerLink::PullSection(size_t server, const v1::ModelPlace& place) {
  MutexLock lock(mutex_);
  if (!failure_.ok()) return failure_;
  outstanding_.SetSection(server, place, clock_.NowMs());
  commands_.emplace_back([this, server](size_t i) {
    if (i == server)
      SendRequest(i, [&]() WEIR_REQUIRES(mutex_) { return outstanding_.SectionFor(i); });
  });
  transport_->Wake();
  while (failure_.ok() && !outstanding_.SectionIsDone()) changed_.Wait(lock);
  if (!failure_.ok()) return failure_;
  return outstanding_.TakeSection();
}

Result<v1::WorkReply> ServerLink::RequestWork(v1::WorkRequest request, Body scores) {
  WEIR_RETURN_IF_ERROR(failure());
  SubmitWorkRequest(std::move(request), std::move(scores));
  WEIR_ASSIGN_OR_RETURN(v1::Header reply, AwaitExchange());
  return std::move(*reply.mutable_work_reply());
}

void ServerLink::SubmitWorkRequest(v1::WorkRequest request, Body scores) {
  v1::Header header;
  *request.mutable_speaker() = Speaker();
  *header.mutable_work_request() = std::move(request);
  SubmitExchange(std::move(header), std::move(scores));
}

std::optional<v1::WorkReply> ServerLink::TryTakeWork() {
  auto reply = TryTakeExchange();
  if (!reply) return std::nullopt;
  return std::move(*reply->mutable_work_reply());
}

Result<v1::ReportReply> ServerLink::SendReport(v1::Report report) {
  WEIR_RETURN_IF_ERROR(failure());
  SubmitReport(std::move(report));
  WEIR_ASSIGN_OR_RETURN(v1::Header reply, AwaitExchange());
  return std::move(*reply.mutable_report_reply());
}

void ServerLink::SubmitReport(v1::Report report) {
  v1::Header header;
  *report.mutable_speaker() = Speaker();
  *header.mutable_report() = std::move(report);
  SubmitExchange(std::move(header), {});
}

std::optional<v1::ReportReply> ServerLink::TryTakeReportReply() {
  auto reply = TryTakeExchange();
  if (!reply) return std::nullopt;
  return std::move(*reply->mutable_report_reply());
}

void ServerLink::SubmitExchange(v1::Header request, Body scores) {
  {
    MutexLock lock(mutex_);
    outstanding_.SetExchange(std::move(request), std::move(scores), clock_.NowMs());
    commands_.emplace_back([this](size_t i) {
      if (i == 0)
        SendRequest(0, [&]() WEIR_REQUIRES(mutex_) { return outstanding_.ExchangeFor(0); });
    });
  }
  transport_->Wake();
}

// What the coordinator said counts even if the link has failed since.
Result<v1::Header> ServerLink::AwaitExchange() {
  MutexLock lock(mutex_);
  while (failure_.ok() && !outstanding_.ExchangeIsDone()) changed_.Wait(lock);
  if (auto reply = outstanding_.TakeExchange()) return *std::move(reply);
  return failure_;
}

std::optional<v1::Header> ServerLink::TryTakeExchange() {
  MutexLock lock(mutex_);
  if (!outstanding_.ExchangeIsDone()) return std::nullopt;
  return outstanding_.TakeExchange();
}

}  // namespace weir::worker
