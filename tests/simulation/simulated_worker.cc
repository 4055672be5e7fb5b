#include "tests/simulation/simulated_worker.h"

#include <algorithm>

namespace weir::simulation {

void SimulatedWorker::Start() {
  auto client = MakeClient(
      trainer_, [this](const auto& address, const auto& header) { Watch(address, header); });
  link_ =
      std::make_unique<worker::ServerLink>(scene_.config, scene_.layout,
                                           worker::LinkOptions{.environment = environment(),
                                                               .server_addresses = scene_.addresses,
                                                               .trainer = trainer_,
                                                               .stays = true},
                                           std::move(client));
}

void SimulatedWorker::Kill(RandomStream* /*machine*/) {
  Silence();
  ForgetTransport();
  link_.reset();
  work_ = {};
  has_asked_ = has_rows_ = is_finished_ = is_reporting_ = false;
  refreshes_ = 0;
  refresh_.reset();
}

void SimulatedWorker::Step() {
  if (has_left_ || has_failed()) return;
  HealIfDue();
  const bool goes_on = link_->Step(0);
  if (const Status failure = link_->failure(); !goes_on || !failure.ok()) return End(failure);
  if (!link_->is_connected()) return;
  if (!has_asked_) Ask({});
  if (work_.lease) GoOn();
  if (is_finished_) return EndWell();
  if (auto reply = link_->TryTakeWork()) Take(*reply);
}

void SimulatedWorker::Watch(const std::string& address, const v1::Header& header) {
  uint64_t sequence = 0;
  if (header.has_answer()) sequence = header.answer().durable_sequence();
  if (header.has_durable_notice()) sequence = header.durable_notice().durable_sequence();
  for (uint32_t i = 0; i < scene_.mix.servers; ++i) {
    uint64_t& known = durable_[i][life()];
    if (scene_.addresses[i] == address) known = std::max(known, sequence);
  }
}

void SimulatedWorker::End(const Status& failure) {
  if (failure.code() != StatusCode::kTooLate) return EndBecause(failure.message());
  scene_.Tell(StrCat(name_, " comes too late"));
  comes_too_late_ = has_left_ = true;
}

void SimulatedWorker::Ask(v1::WorkRequest request) {
  has_asked_ = true;
  request.set_may_wait(true);
  link_->SubmitWorkRequest(std::move(request), {});
}

void SimulatedWorker::Take(const v1::WorkReply& reply) {
  if (reply.has_failed()) return EndBecause(reply.failed());
  if (reply.has_finished()) {
    is_finished_ = true;
    scene_.Tell(StrCat(name_, " has heard that the run has finished"));
  } else if (!reply.has_chunk()) {
    Ask({});
  } else {
    work_ = {};
    work_.lease = reply.chunk();
    work_.next_row = work_.durable_row = reply.chunk().first_row();
    if (reply.chunk().chunk() >= scene_.mix.chunks) work_.next_row = ChunkRows();
  }
}

void SimulatedWorker::GoOn() {
  while (!work_.sent.empty() && link_->MarkRead().durable_sequence >= work_.sent.front().first) {
    work_.durable_row = work_.sent.front().second;
    work_.sent.pop_front();
  }
  if (work_.next_row < ChunkRows() || work_.pushes < work_.lease->round_count()) {
    if (scene_.now_ms >= next_batch_ms_) NextBatch();
    return;
  }
  if (!work_.sent.empty() && scene_.mix.plant != Plant::kDoneTooEarly) return;
  const v1::ChunkLease lease = *std::exchange(work_, {}).lease;
  const bool is_past_end = lease.chunk() >= scene_.mix.chunks;
  Finish(lease, is_past_end ? 0 : ChunkRows() - std::min(ChunkRows(), lease.first_row()));
}

void SimulatedWorker::Finish(const v1::ChunkLease& lease, uint64_t row_count) {
  v1::WorkRequest request;
  v1::Completion& completion = *request.add_completions();
  completion.set_lease(lease.lease());
  completion.set_row_count(row_count);
  if (row_count == 0 && lease.chunk() >= scene_.mix.chunks) {
    v1::FileEnd& end = *request.add_file_ends();
    end.set_split(v1::TRAIN);
    end.set_chunk_count(scene_.mix.chunks);
  }
  Ask(std::move(request));
}

void SimulatedWorker::EndWell() {
  if (may_leave_) return Report();
  if (refresh_) {
    if (link_->MarkRead().accepted_sequence < *refresh_) return;
    ++refreshes_;
    refresh_.reset();
  }
  if (!scene_.all_have_finished || refreshes_ >= scene_.refresh || link_->has_volatile()) return;
  if (!link_->TryAcquireCredit()) return;
  v1::Push refresh;
  refresh.set_is_refresh(true);
  refresh_ =
      link_->SubmitPush(refresh, std::vector<session::Body>(scene_.mix.servers), link_->MarkRead());
}

void SimulatedWorker::Report() {
  if (!std::exchange(is_reporting_, true)) {
    v1::Report report;
    report.set_is_last(true);
    link_->SubmitReport(std::move(report));
  }
  if (!link_->TryTakeReportReply()) return;
  has_left_ = true;
  scene_.Tell(StrCat(name_, " has left"));
  ForgetTransport();
  link_.reset();
}

}  // namespace weir::simulation
