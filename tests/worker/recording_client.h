// A client without servers that numbers the pushes, keeps what they said and counts how often its
// replica is refreshed, for tests of what threads hand on.
#pragma once

#include <cmath>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "common/device/cpu_device.h"
#include "worker/embedded/embedded_client.h"

namespace weir::worker {

class RecordingClient : public EmbeddedClient {
 public:
  struct Pushed {
    uint64_t lease = 0, offset = 0;
    std::vector<float> dense, rows, row_squares;
    bool with_next_rows = false;
  };

  // durable: the push up to which servers keep them, all the time.
  RecordingClient(const v1::Config& config, const ModelLayout& layout, uint64_t durable = 0)
      : EmbeddedClient(config, layout), durable_(durable) {}

  bool needs_row_squares() const override { return true; }
  ReadMark MarkRead() override { return {.versions = {}, .durable_sequence = durable_}; }
  Result<uint64_t> Push(const StepGradients& step) override {
    WEIR_RETURN_IF_ERROR(EmbeddedClient::Push(step).status());
    std::lock_guard lock(mutex_);
    pushed_.push_back({.lease = step.lease,
                       .offset = step.offset,
                       .dense = Contents(step.dense),
                       .rows = {step.rows.begin(), step.rows.end()},
                       .row_squares = {step.row_squares.begin(), step.row_squares.end()},
                       .with_next_rows = step.next != nullptr});
    return pushed_.size();
  }
  Status Refresh() override {
    std::lock_guard lock(mutex_);
    ++refreshes_;
    return next_refresh_;
  }

  std::vector<Pushed> pushed() const {
    std::lock_guard lock(mutex_);
    return pushed_;
  }
  int refreshes() const {
    std::lock_guard lock(mutex_);
    return refreshes_;
  }
  void FailRefreshes(Status status) {
    std::lock_guard lock(mutex_);
    next_refresh_ = std::move(status);
  }

 private:
  static std::vector<float> Contents(device::Span<const float> values) {
    const std::span<const float> host = device::OnHost(values);
    return {host.begin(), host.end()};
  }

  const uint64_t durable_;
  mutable std::mutex mutex_;
  std::vector<Pushed> pushed_;
  int refreshes_ = 0;
  Status next_refresh_;
};

inline double NormOf(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

}  // namespace weir::worker
