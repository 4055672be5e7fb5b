// The least period that is possible once the first layers are grouped: by this the search of
// omgs.h drops at once what cannot have the least of all.
//
// A period depends on two sums alone: of selection, and of messages, which is a matter of how many
// pushes there are. For each number of pushes that the layers from one on are made of, a table has
// the least seconds of selection; it is filled from the last layer to the first.
//
// Thread rule: pure function; a value that borrows the costs.
#pragma once

#include <vector>

#include "common/schedule/push_times.h"

namespace weir::schedule {

// All pushes that layers can make: [first][last - first] is of the layers first to last.
using AllPushes = std::vector<std::vector<Push>>;

AllPushes AllPushesOf(const Costs& costs);

class LeastPeriods {
 public:
  // Time O(n^3) for n layers. The costs must outlive this.
  LeastPeriods(const Costs& costs, const AllPushes& pushes);

  // With so many layers pushed, and what those pushes sum up to. Time O(n).
  double Behind(size_t pushed, double selection_seconds, double message_seconds) const;

 private:
  // The push from layer `first` on, before what `behind` has of the layers behind it.
  void Put(size_t first, const Push& push, const std::vector<double>& behind);

  const Costs& costs_;
  double fixed_seconds_;                    // of a step, in whatever pushes
  std::vector<std::vector<double>> least_;  // [first layer][pushes with elements]: selection
  std::vector<double> rest_;                // elements from a layer on
};

}  // namespace weir::schedule
