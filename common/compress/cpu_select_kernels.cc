#include "common/compress/candidates.h"
#include "common/compress/round_selection.h"
#include "common/compress/select_kernels.h"
#include "common/compress/stripe_select.h"

namespace weir::compress {

const SelectKernels& CpuSelectKernels() {
  static constexpr SelectKernels kKernels = {
      .accumulate = AccumulateStripe,
      .accumulate_and_select = AccumulateAndSelect,
      .accumulate_and_quantize = AccumulateAndQuantize,
      .round_selection = RoundSelection,
      .collect_reaching = CollectReaching,
      .accumulate_and_test = AccumulateAndTest,
      .accumulate_and_take_quanta = AccumulateAndTakeQuanta,
      .sum_bucket = SumBucket,
      .append_levels = AppendLevels,
      .add_ordered_squares = AddOrderedSquares,
      .moments_above = MomentsAbove,
      .log_sum = LogSum,
  };
  return kKernels;
}

}  // namespace weir::compress
