// That batches give a store's rows what its one-row forms do, which define it: what the section
// store verifies.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/store/row_table.h"
#include "common/store/update_rule.h"

namespace weir::bench {

using BatchRows = std::vector<store::BatchRow>;

// The rule here counts no steps.
inline constexpr uint64_t kStep = 1;

// A few rows, updated one by one in a store of their own: what the batches must give too.
class WatchedRows {
 public:
  // batches: of rows of kDimension elements.
  WatchedRows(const ModelLayout& layout, const store::UpdateRule& rule,
              const std::vector<BatchRows>& batches);

  // The updates of one pass over all batches.
  void Update(std::span<const float> gradients);

  Status Verify(const store::RowPartitionStore& store);

 private:
  store::RowPartitionStore store_;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<uint32_t>> watched_;
};

// That a batch was read as the store has it.
Status VerifyRead(store::RowPartitionStore& store, const BatchRows& batch,
                  std::span<const float> read);

}  // namespace weir::bench
