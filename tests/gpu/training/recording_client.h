// A trainer's client that keeps the sum of the dense gradients which it hands on, and at the end of
// training, before anybody evaluates, waits until all trainers have come there, and then has what
// the servers have.
//
// Thread rule: as ParameterClient's.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "worker/client/server_client.h"

namespace weir::test {

// Where threads wait for one another, a minute at most.
class MeetingPoint {
 public:
  explicit MeetingPoint(int count) : missing_(count) {}

  bool Arrive() {
    std::unique_lock lock(mutex_);
    --missing_;
    arrived_.notify_all();
    return arrived_.wait_for(lock, std::chrono::minutes(1), [this] { return missing_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  int missing_;
};

class RecordingClient final : public worker::ParameterClient {
 public:
  // samples: of the whole training.
  RecordingClient(worker::ServerClient* client, uint64_t samples, MeetingPoint* meeting)
      : client_(*client), samples_(samples), meeting_(*meeting) {}

  // Once the run is over. Flat.
  const std::vector<double>& gradients() const { return gradients_; }
  worker::ServerClient& client() const { return client_; }

  Result<uint64_t> Push(const worker::StepGradients& step) override {
    std::vector<float> dense(step.dense.size);
    step.stream->CopyToHost<float>(step.dense, dense);
    WEIR_RETURN_IF_ERROR(step.stream->Synchronize());
    {
      const std::lock_guard lock(mutex_);
      gradients_.resize(dense.size());
      for (size_t i = 0; i < dense.size(); ++i) gradients_[i] += dense[i];
    }
    return client_.Push(step);
  }
  Result<v1::WorkReply> RequestWork(v1::WorkRequest request, std::vector<Bytes> scores) override {
    WEIR_ASSIGN_OR_RETURN(v1::WorkReply reply,
                          client_.RequestWork(std::move(request), std::move(scores)));
    if (reply.progress().samples() < samples_ || std::exchange(has_trained_, true)) return reply;
    EXPECT_FALSE(reply.has_finished()) << "nobody has evaluated";
    EXPECT_TRUE(meeting_.Arrive());
    WEIR_RETURN_IF_ERROR(client_.Refresh());
    return reply;
  }

  uint32_t trainer() const override { return client_.trainer(); }
  device::Pointer<const float> replica() const override { return client_.replica(); }
  compress::SquareSumsOfTensors square_sums() const override { return client_.square_sums(); }
  bool needs_row_squares() const override { return client_.needs_row_squares(); }
  std::unique_ptr<worker::RowPull> PullRows(const data::Batch& batch, bool read_only) override {
    return client_.PullRows(batch, read_only);
  }
  Status AwaitRows(worker::RowPull* pull, std::span<float> rows) override {
    return client_.AwaitRows(pull, rows);
  }
  bool rows_may_come_ahead() const override { return client_.rows_may_come_ahead(); }
  void Forget(worker::RowPull* pull) override { client_.Forget(pull); }
  bool has_volatile() const override { return client_.has_volatile(); }
  worker::ReadMark MarkRead() override { return client_.MarkRead(); }
  std::unique_ptr<worker::PushScratch> NewPushScratch() const override {
    return client_.NewPushScratch();
  }
  void SetPlace(uint32_t rank, uint32_t count) override { client_.SetPlace(rank, count); }
  void SetWindow(int window, bool awaits) override { client_.SetWindow(window, awaits); }
  Status AwaitAccepted(uint64_t sequence) override { return client_.AwaitAccepted(sequence); }
  Status Refresh() override { return client_.Refresh(); }
  Result<v1::ReportReply> SendReport(v1::Report report) override {
    return client_.SendReport(std::move(report));
  }
  Result<worker::SavedSteps> Save(const std::function<Status(ByteSpan frames)>& take) override {
    return client_.Save(take);
  }
  void FillReport(v1::WorkerReport* report) override { client_.FillReport(report); }
  void Stop(const Status& status, bool tells) override { client_.Stop(status, tells); }

 private:
  worker::ServerClient& client_;
  const uint64_t samples_;
  MeetingPoint& meeting_;
  bool has_trained_ = false;
  std::mutex mutex_;
  std::vector<double> gradients_;
};

}  // namespace weir::test
