#include "tests/support/simulated_trainers.h"

#include <algorithm>

#include "common/base/strings.h"
#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

v1::Config ConfigOf(uint64_t chunks, int32_t warmup_steps) {
  v1::Config config = TinyConfig();
  config.mutable_data()->mutable_synthetic()->set_rows(static_cast<int64_t>(chunks) * 10);
  config.mutable_data()->mutable_synthetic()->set_test_rows(0);
  config.mutable_cluster()->set_concurrency_warmup_steps(warmup_steps);
  return config;
}

}  // namespace

SimulatedTrainers::SimulatedTrainers(uint32_t count, uint64_t chunks, int32_t warmup_steps,
                                     Odds odds, uint64_t seed)
    : config_(ConfigOf(chunks, warmup_steps)),
      chunks_(chunks),
      odds_(odds),
      random_(seed),
      trainers_(count) {
  for (uint32_t i = 0; i < count; ++i) {
    At(random_.NextBelow(500), [this, i] { Join(i); });
  }
}

void SimulatedTrainers::Run(int64_t longest_ms) {
  int64_t next_tick_ms = 0;
  while (!coordinator_.over(now_ms_) && now_ms_ < longest_ms) {
    const bool has_event = !events_.empty() && events_.top().at_ms <= next_tick_ms;
    now_ms_ = std::max(now_ms_, has_event ? events_.top().at_ms : next_tick_ms);
    if (has_event) {
      const auto run = events_.top().run;
      events_.pop();
      run();
    } else {
      coordinator_.Tick(now_ms_);
      next_tick_ms += 100;
    }
    for (const Coordinator::HeldReply& held : coordinator_.TakeHeldReplies(now_ms_)) {
      Deliver(held.seat.trainer, held.header);
    }
  }
}

void SimulatedTrainers::TryJoin(uint32_t i) {
  v1::Join join;
  *join.mutable_identity() = session::MakeRunIdentity(config_, 1);
  join.set_trainer(i);
  join.set_nonce(trainers_[i].nonce);
  const v1::Header reply = coordinator_.OnJoin(join, now_ms_);
  if (reply.has_join_reply()) {
    trainers_[i].incarnation = reply.join_reply().incarnation();
    At(500 + random_.NextBelow(1000), [this, i, life = trainers_[i].nonce] { Beat(i, life); });
    Ask(i, {});
  } else if (reply.refusal().retry()) {
    At(static_cast<uint64_t>(std::max<int64_t>(reply.refusal().wait_ms(), 100)),
       [this, i] { TryJoin(i); });
  } else {
    trainers_[i].has_left = true;  // it came too late
  }
}

void SimulatedTrainers::Beat(uint32_t i, uint64_t life) {
  if (trainers_[i].nonce != life || trainers_[i].incarnation == 0) return;
  v1::Heartbeat heartbeat;
  *heartbeat.mutable_speaker() = Speaker(i);
  coordinator_.OnHeartbeat(heartbeat, now_ms_);
  At(2500, [this, i, life] { Beat(i, life); });
}

v1::Speaker SimulatedTrainers::Speaker(uint32_t i) const {
  v1::Speaker speaker;
  speaker.set_trainer(i);
  speaker.set_incarnation(trainers_[i].incarnation);
  speaker.set_run(coordinator_.run());
  return speaker;
}

void SimulatedTrainers::Ask(uint32_t i, v1::WorkRequest request) {
  Trainer& trainer = trainers_[i];
  request.set_request_id(++trainer.request_id);
  request.set_may_wait(true);
  *request.mutable_speaker() = Speaker(i);
  *trainer.request.mutable_work_request() = std::move(request);
  trainer.is_asking = true;
  SendRequest(i);
}

void SimulatedTrainers::ReportLast(uint32_t i) {
  Trainer& trainer = trainers_[i];
  v1::Report& report = *trainer.request.mutable_report();
  report.set_request_id(++trainer.request_id);
  report.set_is_last(true);
  *report.mutable_speaker() = Speaker(i);
  report.mutable_counted()->set_steps(trainer.steps);
  trainer.is_asking = true;
  SendRequest(i);
}

void SimulatedTrainers::SendRequest(uint32_t i) {
  ++requests_;
  const uint64_t life = trainers_[i].nonce, id = trainers_[i].request_id;
  At(2000, [this, i, life, id] {
    const Trainer& now = trainers_[i];
    if (now.nonce == life && now.is_asking && now.request_id == id) SendRequest(i);
  });
  if (const auto reply = Say(i)) Deliver(i, *reply);
}

std::optional<v1::Header> SimulatedTrainers::Say(uint32_t i) {
  const v1::Header& request = trainers_[i].request;
  const transport::PeerId peer = StrCat("peer ", i);
  if (request.has_report()) return coordinator_.OnReport(request.report(), peer, now_ms_);
  return coordinator_.OnWorkRequest(request.work_request(), MakeParts({}, {}), peer, now_ms_);
}

void SimulatedTrainers::Deliver(uint32_t i, const v1::Header& header) {
  if (Chance(odds_.loses_reply)) return;
  At(1 + random_.NextBelow(5), [this, i, life = trainers_[i].nonce, header] {
    if (trainers_[i].nonce == life) TakeReply(i, header);
  });
}

void SimulatedTrainers::TakeReply(uint32_t i, const v1::Header& header) {
  Trainer& trainer = trainers_[i];
  const v1::WorkReply& reply = header.work_reply();
  const v1::ReportReply& report = header.report_reply();
  const uint64_t id = header.has_report_reply() ? report.request_id() : reply.request_id();
  if (!trainer.is_asking || id != trainer.request_id) return;
  trainer.is_asking = false;
  if (report.has_run()) {
    samples_ = report.run().samples();
    reported_steps_ = report.run().total().steps();
  }
  if (header.has_report_reply() || reply.has_failed()) return Leave(i);
  if (reply.has_finished()) return ReportLast(i);
  if (reply.has_chunk()) return Begin(i, reply.chunk());
  Ask(i, {});
}

void SimulatedTrainers::Begin(uint32_t i, const v1::ChunkLease& lease) {
  if (Chance(odds_.leaves)) return Leave(i);
  const uint64_t life = trainers_[i].nonce;
  if (Chance(odds_.dies)) {
    At(20, [this, i, lease] {
      Push(i, lease, 5);
      trainers_[i].incarnation = 0;
      At(1000, [this, i] { Join(i); });
    });
    return;
  }
  At(200 + random_.NextBelow(400), [this, i, life, lease] {
    if (trainers_[i].nonce == life) Finish(i, lease);
  });
}

void SimulatedTrainers::Push(uint32_t i, const v1::ChunkLease& lease, uint64_t rows) {
  if (lease.split() == v1::TEST || lease.chunk() >= chunks_ || rows <= lease.first_row()) return;
  v1::Push push;
  push.set_lease(lease.lease());
  push.set_offset(rows);
  coordinator_.OnOffset({i, 0}, push, ++step_);
  rows_of_chunks_[lease.chunk()] += rows - lease.first_row();
}

void SimulatedTrainers::Finish(uint32_t i, const v1::ChunkLease& lease) {
  v1::WorkRequest request;
  v1::Completion& completion = *request.add_completions();
  completion.set_lease(lease.lease());
  if (lease.chunk() < chunks_) {
    completion.set_row_count(10 - lease.first_row());
    Push(i, lease, 10);
    ++trainers_[i].steps;
  } else {
    v1::FileEnd& end = *request.add_file_ends();
    end.set_split(v1::TRAIN);
    end.set_chunk_count(chunks_);
  }
  Ask(i, std::move(request));
}

void SimulatedTrainers::Leave(uint32_t i) {
  v1::Leave leave;
  *leave.mutable_speaker() = Speaker(i);
  coordinator_.OnLeave(leave, now_ms_);
  trainers_[i].has_left = true;
  trainers_[i].incarnation = 0;
}

}  // namespace weir::server
