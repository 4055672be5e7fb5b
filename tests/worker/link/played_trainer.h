// A trainer without threads or a model.
//
// Thread rule: one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/transport/loopback.h"
#include "tests/server/server_test_support.h"
#include "worker/link/server_link.h"

namespace weir::worker {

// Trains what it is lent, each chunk of 10 rows as one step of made-up gradients, as far as it gets
// without waiting. What it sends, the model of tests/server/server_test_support.h has.
class PlayedTrainer {
 public:
  static constexpr uint64_t kChunks = 20;  // of the training set

  PlayedTrainer(const v1::Config& config, const ModelLayout& layout, LinkOptions options,
                transport::LoopbackNetwork* network, uint64_t chunks = kChunks)
      : layout_(layout),
        chunks_(chunks),
        link_(config, layout, std::move(options), network->MakeClient()) {}

  // As far as it gets. There is a report once the run is over.
  void Look() {
    EXPECT_TRUE(link_.Step(0)) << link_.failure();
    if (!link_.is_connected()) return;
    if (!has_asked_) Ask({});
    if (awaited_push_) LookAtPush();
    if (rows_.id != 0) LookAtRows();
    if (is_reporting_) {
      if (auto reply = link_.TryTakeReportReply()) report_ = std::move(reply);
    } else if (auto work = link_.TryTakeWork()) {
      Begin(*work);
    }
  }

  ServerLink& link() { return link_; }
  int steps() const { return steps_; }
  const std::optional<v1::ReportReply>& report() const { return report_; }

 private:
  void Ask(v1::WorkRequest request) {
    has_asked_ = true;
    request.set_may_wait(true);
    link_.SubmitWorkRequest(std::move(request), {});
  }
  void Begin(const v1::WorkReply& work) {
    EXPECT_FALSE(work.has_failed()) << work.failed();
    if (work.has_finished()) {
      is_reporting_ = true;
      v1::Report report;
      report.set_is_last(true);
      report.mutable_counted()->set_steps(static_cast<uint64_t>(steps_));
      return link_.SubmitReport(std::move(report));
    }
    if (!work.has_chunk()) return Ask({});
    lease_ = work.chunk();
    if (lease_.chunk() >= chunks_) return Finish(0);
    rows_.bodies = {{transport::Part(server::RowIdsFrame(0, {1, 2}))}};
    link_.SubmitRowPull(&rows_);
  }
  // The step's rows have come: its gradients leave.
  void LookAtRows() {
    const auto replies = link_.TryTakeRowReplies(rows_.id);
    if (!replies) return;
    EXPECT_FALSE(replies->at(0).empty());
    rows_ = {};
    EXPECT_TRUE(link_.TryAcquireCredit());
    v1::Push push;
    push.set_lease(lease_.lease());
    Body body;
    body.emplace_back(server::GradientFrame(layout_.pieces()[0], 0, {7}, {1.5f}));
    body.emplace_back(server::RowGradientsFrame(0, {1, 2}, 0.5f));
    std::vector<Body> bodies;
    bodies.push_back(std::move(body));
    awaited_push_ = link_.SubmitPush(push, std::move(bodies), link_.MarkRead());
  }
  void LookAtPush() {
    if (link_.MarkRead().accepted_sequence < *awaited_push_) return;
    awaited_push_.reset();
    ++steps_;
    Finish(10);
  }
  void Finish(uint64_t row_count) {
    v1::WorkRequest request;
    v1::Completion& completion = *request.add_completions();
    completion.set_lease(lease_.lease());
    completion.set_row_count(row_count);
    if (row_count == 0) {
      v1::FileEnd& end = *request.add_file_ends();
      end.set_split(v1::TRAIN);
      end.set_chunk_count(chunks_);
    }
    Ask(std::move(request));
  }

  const ModelLayout& layout_;
  const uint64_t chunks_;
  ServerLink link_;
  bool has_asked_ = false, is_reporting_ = false;
  v1::ChunkLease lease_;
  RowRequest rows_;
  std::optional<uint64_t> awaited_push_;
  int steps_ = 0;
  std::optional<v1::ReportReply> report_;
};

}  // namespace weir::worker
