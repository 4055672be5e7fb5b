#include "worker/client/measured_pushes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace weir::worker {
namespace {

std::vector<int64_t> ElementCounts(const std::vector<schedule::Layer>& layers) {
  std::vector<int64_t> counts;
  for (const schedule::Layer& layer : layers) counts.push_back(layer.element_count);
  return counts;
}

int64_t Total(const std::vector<schedule::Layer>& layers) {
  int64_t total = 0;
  for (const schedule::Layer& layer : layers) total += layer.element_count;
  return total;
}

}  // namespace

MeasuredPushes::MeasuredPushes(const std::vector<schedule::Layer>& layers)
    : element_count_(static_cast<double>(std::max<int64_t>(Total(layers), 1))),
      times_(ElementCounts(layers)) {}

void MeasuredPushes::Add(MeasuredPush push) {
  threads_.insert(std::this_thread::get_id());
  if (push.step.is_single) {
    layer_bytes_.resize(std::max(layer_bytes_.size(), push.layer_bytes.size()));
    for (size_t i = 0; i < push.layer_bytes.size(); ++i) {
      layer_bytes_[i] += static_cast<double>(push.layer_bytes[i]);
    }
    for (const size_t bytes : push.row_bytes) fixed_bytes_ += static_cast<double>(bytes);
    fixed_bytes_ += static_cast<double>(push.agreed_bytes);
    agreed_bytes_ += static_cast<double>(push.agreed_bytes);
    ++single_count_;
  }
  times_.Add(std::move(push.step));
}

std::vector<int64_t> MeasuredPushes::LayerBytes() const {
  std::vector<int64_t> bytes;
  for (const double sum : layer_bytes_) bytes.push_back(std::llround(sum / single_count_));
  return bytes;
}

schedule::Costs MeasuredPushes::Fit(const schedule::Line& messages,
                                    schedule::Objective objective) const {
  const bool waits = objective == schedule::Objective::kStep;
  const double sharing = waits ? 1 : static_cast<double>(threads_.size());
  const double bytes =
      std::accumulate(layer_bytes_.begin(), layer_bytes_.end(), 0.0) - agreed_bytes_;
  return times_.Fit({.of_bytes = {.base_seconds = messages.base_seconds * sharing,
                                  .each_seconds = messages.each_seconds * sharing},
                     .bytes_per_element = bytes / single_count_ / element_count_,
                     .fixed_bytes = fixed_bytes_ / single_count_},
                    objective);
}

}  // namespace weir::worker
