#include "worker/embedded/row_rests.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace weir::worker {
namespace {

// Rows with one last step have one rest, which may be a sum of hundreds of terms.
template <typename Value>
class ByLastStep {
 public:
  template <typename Make>
  const Value& Of(float last, const Make& make) {
    const auto [found, is_new] = values_.try_emplace(std::bit_cast<uint32_t>(last));
    if (is_new) found->second = make(last);
    return found->second;
  }

 private:
  std::unordered_map<uint32_t, Value> values_;
};

struct RestAndLast {
  kernels::Rest rest;
  float last = 0;
};

// The last float of a row's state, of which write(state) has written all.
template <typename Write>
float LastOf(const store::UpdateRule& rule, const Write& write) {
  std::vector<float> state(static_cast<size_t>(rule.StatePerRow(1)));
  write(std::span(state));
  return state.back();
}

void MakeRoom(device::Device& device, size_t count, device::Mirror<kernels::Rest>* rests) {
  if (rests->size() < count) *rests = {device, count + count / 4, "steps of rows at rest"};
}

}  // namespace

RowRests::RowRests(const store::UpdateRule& rule, size_t row_count) : rule_(rule) {
  if (!rule.moves_at_rest()) return;
  last_.assign(row_count,
               LastOf(rule, [&](std::span<float> state) { rule.InitialState(1, state); }));
}

void RowRests::UploadToRead(std::span<const uint32_t> numbers, uint64_t step,
                            device::Device& device, device::Stream& stream,
                            device::Mirror<kernels::Rest>* rests) const {
  MakeRoom(device, numbers.size(), rests);
  ByLastStep<kernels::Rest> known;
  const auto rest = [&](float last) { return rule_.RestToRead(last, step); };
  {
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < numbers.size(); ++i) {
      rests->host()[i] = known.Of(last_[numbers[i]], rest);
    }
  }
  rests->Upload(stream, numbers.size());
}

void RowRests::UploadToStep(std::span<const uint32_t> numbers, uint64_t step,
                            device::Device& device, device::Stream& stream,
                            device::Mirror<kernels::Rest>* rests) {
  MakeRoom(device, numbers.size(), rests);
  ByLastStep<RestAndLast> known;
  const auto taken = [&](float last) {
    const kernels::Rest rest = rule_.RestToStep(&last, step);
    return RestAndLast{rest, last};
  };
  {
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const RestAndLast& next = known.Of(last_[numbers[i]], taken);
      rests->host()[i] = next.rest;
      last_[numbers[i]] = next.last;
    }
  }
  rests->Upload(stream, numbers.size());
}

void RowRests::StartAt(uint64_t step) {
  if (empty()) return;
  std::ranges::fill(last_,
                    LastOf(rule_, [&](std::span<float> state) { rule_.StartAt(1, step, state); }));
}

}  // namespace weir::worker
