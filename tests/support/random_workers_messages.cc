// What random workers say, and what they make of the replies.
#include <utility>

#include "common/base/check.h"
#include "common/session/run_identity.h"
#include "common/session/score_message.h"
#include "tests/server/server_test_support.h"
#include "tests/support/random_workers.h"

namespace weir::server {
namespace {

eval::Scores ScoresOf(uint64_t chunk) {
  eval::Scores scores;
  for (uint64_t row = 0; row < RandomWorkers::kRowsOfChunk; ++row) {
    scores.probabilities.push_back(static_cast<float>(1 + row * (chunk + 1) % 9) * 0.1f);
    scores.labels.push_back((row + chunk) % 3 == 0);
  }
  return scores;
}

}  // namespace

v1::Speaker RandomWorkers::SpeakerOf(cluster::Seat seat) {
  v1::Speaker speaker;
  speaker.set_trainer(seat.trainer);
  speaker.set_stage(seat.stage);
  speaker.set_incarnation(workers_[seat].incarnation);
  speaker.set_run(twins_.lasting().run());
  return speaker;
}

void RandomWorkers::Join(cluster::Seat seat) {
  v1::Join join;
  *join.mutable_identity() = session::MakeRunIdentity(config_, kServersOfRun);
  join.set_trainer(seat.trainer);
  join.set_stage(seat.stage);
  join.set_stage_count(stages_);
  join.set_link_address(StrCat("tcp://", seat.trainer, ":", seat.stage));
  join.set_nonce(++nonces_);
  const v1::Header reply = twins_.Tell([&](Coordinator& to) { return to.OnJoin(join, now_ms_); });
  Worker& worker = workers_[seat];
  worker = {.nonce = nonces_, .incarnation = reply.join_reply().incarnation()};
  worker.has_left = !reply.has_join_reply();  // it comes too late
}

void RandomWorkers::Leave(cluster::Seat seat, const std::string& failure) {
  v1::Leave leave;
  *leave.mutable_speaker() = SpeakerOf(seat);
  leave.set_failure(failure);
  leave.set_others_may_go_on(true);
  twins_.Tell([&](Coordinator& to) { return to.OnLeave(leave, now_ms_); });
  workers_[seat].has_left = true;
}

void RandomWorkers::Beat(cluster::Seat seat) {
  Worker& worker = workers_[seat];
  v1::Heartbeat heartbeat;
  *heartbeat.mutable_speaker() = SpeakerOf(seat);
  heartbeat.set_adopted_generation(worker.generation);
  if (Chance(0.1)) heartbeat.set_lost_generation(worker.generation);
  const auto reply =
      twins_.Tell([&](Coordinator& to) { return to.OnHeartbeat(heartbeat, now_ms_); });
  if (reply) worker.generation = reply->heartbeat_reply().pipeline().generation();
}

void RandomWorkers::Push(cluster::Seat seat) {
  const Worker& worker = workers_[seat];
  if (worker.leases.empty()) return;
  const v1::ChunkLease& lease = worker.leases.front();
  if (lease.split() == v1::TEST || lease.chunk() >= kTrainChunks) return;
  v1::Push push;
  push.set_lease(lease.lease());
  push.set_offset(lease.first_row() + random_.NextBelow(kRowsOfChunk - lease.first_row()));
  ++step_;
  twins_.Do([&](Coordinator& to) { to.OnOffset(seat, push, step_); });
}

void RandomWorkers::Ask(cluster::Seat seat) {
  Worker& worker = workers_[seat];
  v1::WorkRequest request;
  worker.scores.clear();
  while (!worker.leases.empty() && Chance(0.7)) {
    Complete(worker.leases.front(), &worker, &request);
    worker.leases.erase(worker.leases.begin());
  }
  request.set_may_wait(worker.leases.empty());
  request.set_is_busy(seat.stage > 0 && Chance(0.3));
  if (servers_save_) request.mutable_learned();
  request.set_request_id(++worker.request_id);
  *request.mutable_speaker() = SpeakerOf(seat);
  *worker.request.emplace().mutable_work_request() = std::move(request);
  Send(seat);
}

void RandomWorkers::Complete(const v1::ChunkLease& lease, Worker* worker,
                             v1::WorkRequest* request) {
  const bool is_test = lease.split() == v1::TEST;
  const uint64_t chunks = is_test ? kTestChunks : kTrainChunks;
  const bool is_past_end = lease.chunk() >= chunks;
  v1::Completion& completion = *request->add_completions();
  completion.set_lease(lease.lease());
  if (!is_past_end) completion.set_row_count(kRowsOfChunk - lease.first_row());
  if (is_past_end) {
    v1::FileEnd& end = *request->add_file_ends();
    end.set_split(lease.split());
    end.set_chunk_count(chunks);
  }
  if (!is_test) {
    worker->steps += is_past_end ? 0 : 1;
    return;
  }
  const eval::Scores scores = is_past_end ? eval::Scores() : ScoresOf(lease.chunk());
  worker->scores.push_back(session::WriteScores(scores, &completion));
}

void RandomWorkers::Report(cluster::Seat seat) {
  Worker& worker = workers_[seat];
  v1::Report& report = *worker.request.emplace().mutable_report();
  report.set_request_id(++worker.request_id);
  report.set_is_last(worker.is_over);
  *report.mutable_speaker() = SpeakerOf(seat);
  report.mutable_counted()->set_steps(worker.steps);
  report.mutable_counted()->set_logloss_sum(random_.NextUnit());
  report.mutable_counted()->add_layers()->set_name(StrCat("top/", seat.stage, "/weight"));
  Send(seat);
}

void RandomWorkers::Send(cluster::Seat seat) {
  const Worker& worker = workers_[seat];
  const auto reply = twins_.Tell([&](Coordinator& to) {
    const transport::PeerId peer = StrCat("peer of ", Name(seat));
    if (worker.request->has_report()) return to.OnReport(worker.request->report(), peer, now_ms_);
    return to.OnWorkRequest(worker.request->work_request(), MakeParts({}, worker.scores), peer,
                            now_ms_);
  });
  if (reply && !Chance(0.1)) Take(seat, *reply);  // or it is lost
}

void RandomWorkers::Take(cluster::Seat seat, const v1::Header& header) {
  Worker& worker = workers_[seat];
  CHECK(!header.has_refusal()) << header.DebugString();
  worker.request.reset();
  const v1::WorkReply& work = header.work_reply();
  const v1::ReportReply& report = header.report_reply();
  evaluations_ += static_cast<size_t>(work.progress().evaluations_size() > 0);
  if (work.has_chunk()) worker.leases.push_back(work.chunk());
  worker.is_over = worker.is_over || work.has_finished();
  EXPECT_EQ(work.failed() + report.failed(), "");
  if (!report.has_run()) return;
  samples_ = report.run().samples();
  reported_steps_ = report.run().total().steps();
  Leave(seat, "");
}

}  // namespace weir::server
