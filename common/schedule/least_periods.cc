#include "common/schedule/least_periods.h"

#include <algorithm>
#include <limits>

namespace weir::schedule {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

}  // namespace

AllPushes AllPushesOf(const Costs& costs) {
  AllPushes pushes(costs.layers.size());
  for (size_t first = 0; first < pushes.size(); ++first) {
    double backward_seconds = 0;
    int64_t element_count = 0;
    for (size_t last = first; last < pushes.size(); ++last) {
      backward_seconds += costs.layers[last].backward_seconds;
      element_count += costs.layers[last].element_count;
      pushes[first].push_back(PushOf(costs, backward_seconds, element_count));
    }
  }
  return pushes;
}

LeastPeriods::LeastPeriods(const Costs& costs, const AllPushes& pushes)
    : costs_(costs), fixed_seconds_(costs.forward_seconds) {
  const size_t layer_count = pushes.size();
  least_.assign(layer_count + 1, std::vector<double>(layer_count + 1, kImpossible));
  least_[layer_count][0] = 0;
  rest_.resize(layer_count + 1);
  for (size_t first = layer_count; first-- > 0;) {
    fixed_seconds_ += costs.layers[first].backward_seconds;
    rest_[first] = rest_[first + 1] + static_cast<double>(costs.layers[first].element_count);
    for (size_t end = first + 1; end <= layer_count; ++end) {
      Put(first, pushes[first][end - first - 1], least_[end]);
    }
  }
}

void LeastPeriods::Put(size_t first, const Push& push, const std::vector<double>& behind) {
  const size_t more = push.element_count > 0;
  for (size_t count = 0; count + more < behind.size(); ++count) {
    double& least = least_[first][count + more];
    least = std::min(least, push.selection_seconds + behind[count]);
  }
}

double LeastPeriods::Behind(size_t pushed, double selection_seconds, double message_seconds) const {
  double least = kImpossible;
  for (size_t count = 0; count < least_[pushed].size(); ++count) {
    const double selection = selection_seconds + least_[pushed][count];
    if (selection == kImpossible) continue;
    const double messages = message_seconds + static_cast<double>(count) * costs_.startup_seconds +
                            rest_[pushed] * costs_.element_seconds;
    least = std::min(least,
                     PeriodSeconds(fixed_seconds_ + selection, messages, costs_.sending_slowdown));
  }
  return least;
}

}  // namespace weir::schedule
