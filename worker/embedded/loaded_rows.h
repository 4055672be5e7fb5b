// Rows of a saved model on their way to a device, many at a time.
//
// Place in the life of a batch: before it.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "common/kernels/update_table.h"

namespace weir::worker {

class LoadedRows {
 public:
  LoadedRows(const kernels::Compute& compute, size_t row_count)
      : compute_(compute), row_count_(row_count) {}

  // Of the row's state what the device keeps. The row counts as loaded.
  void Add(uint32_t number, std::span<const float> values, std::span<const float> state);
  size_t count() const { return numbers_.size(); }
  // To where they belong; none is left.
  Status Write(const kernels::StoredRows& stored);

  bool has(size_t number) const { return !is_loaded_.empty() && is_loaded_[number]; }

 private:
  const kernels::Compute compute_;
  const size_t row_count_;
  std::vector<uint32_t> numbers_;
  std::vector<float> values_, state_;
  std::vector<bool> is_loaded_;  // by number; empty: none was
};

}  // namespace weir::worker
