// What parts of a run came to, of sums that only grow. Nobody knows how long a run will be: sums
// are marked at equal distances, and when there are many marks every other one is forgotten and the
// distance doubled. So a part is about a sixteenth to an eighth of the run.
//
// Place in the life of a batch: behind it.
// Thread rule: thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace weir::metrics {

// Distances are of the first sum.
template <size_t kSums>
class RunParts {
 public:
  using Sums = std::array<double, kSums>;

  void Add(const Sums& more) {
    for (size_t i = 0; i < kSums; ++i) total_[i] += more[i];
    if (total_[0] < marks_.back()[0] + distance_) return;
    marks_.push_back(total_);
    if (marks_.size() > kMostMarks) Thin();
  }

  // Zeros before there are two parts.
  Sums first() const { return marks_.size() < 3 ? Sums{} : Part(0); }
  // With what came since, so that it may be two parts long; likewise.
  Sums last() const {
    return marks_.size() < 3 ? Sums{} : Difference(total_, marks_[marks_.size() - 2]);
  }
  // The one where this sum grew most beside the first one; likewise.
  Sums steepest(size_t sum) const {
    Sums steepest = first();
    for (size_t i = 1; i + 1 < marks_.size(); ++i) {
      const Sums part = Part(i);
      if (part[sum] * steepest[0] > steepest[sum] * part[0]) steepest = part;
    }
    return steepest;
  }

 private:
  static constexpr size_t kMostMarks = 16;

  static Sums Difference(const Sums& later, const Sums& earlier) {
    Sums difference;
    for (size_t i = 0; i < kSums; ++i) difference[i] = later[i] - earlier[i];
    return difference;
  }

  Sums Part(size_t i) const { return Difference(marks_[i + 1], marks_[i]); }

  void Thin() {
    size_t kept = 0;
    for (size_t i = 0; i < marks_.size(); i += 2) marks_[kept++] = marks_[i];
    marks_.resize(kept);
    // Not twice what it was: one step may be more than that.
    distance_ = total_[0] / static_cast<double>(kept - 1);
  }

  double distance_ = 1;
  Sums total_{};
  std::vector<Sums> marks_ = {Sums{}};
};

}  // namespace weir::metrics
