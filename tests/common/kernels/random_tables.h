// Which rows the samples of a slice have of some tables, at random.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/random.h"
#include "common/device/cpu_device.h"
#include "common/kernels/table_views.h"
#include "tests/common/kernels/random_matrices.h"

namespace weir::test {

// Tables of any size, of which some have lists, and some of these weights. Samples, `most_samples`
// at most, of a slice that begins anywhere in a batch.
class RandomTables {
 public:
  struct Table {
    std::vector<uint32_t> positions, ends;
    std::vector<float> weights;
    int64_t row_count = 0;
  };

  explicit RandomTables(RandomStream* random, int64_t most_samples = 70)
      : first_sample(RandomSize(9, random)), sample_count(RandomSize(most_samples, random)) {
    const auto batch = static_cast<size_t>(first_sample + sample_count);
    tables_.resize(1 + random->NextBelow(4));
    for (Table& table : tables_) {
      table.row_count = 1 + RandomSize(20, random);
      const bool has_lists = random->NextBelow(2) == 0, has_weights = random->NextBelow(2) == 0;
      for (size_t s = 0; s < batch; ++s) {
        for (uint64_t k = has_lists ? random->NextBelow(4) : 1; k > 0; --k) {
          table.positions.push_back(
              static_cast<uint32_t>(random->NextBelow(static_cast<uint64_t>(table.row_count))));
          if (has_lists && has_weights) table.weights.push_back(RandomEighth(random));
        }
        if (has_lists) table.ends.push_back(static_cast<uint32_t>(table.positions.size()));
      }
      views_.push_back({Lend(table.positions), Lend(table.ends), Lend(table.weights), row_count,
                        table.row_count});
      row_count += table.row_count;
    }
  }

  kernels::TablesView view() const {
    return {device::OnCpu(views_.data()), std::ssize(views_), first_sample};
  }
  const std::vector<Table>& tables() const { return tables_; }
  int64_t table_count() const { return std::ssize(views_); }

  // Calls visit(table, sample of the slice, row among all, weight).
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (size_t t = 0; t < tables_.size(); ++t) {
      const Table& table = tables_[t];
      for (int64_t s = 0; s < sample_count; ++s) {
        const auto at = static_cast<size_t>(first_sample + s);
        const bool has_lists = views_[t].ends != nullptr;
        const size_t end = has_lists ? table.ends[at] : at + 1;
        for (size_t k = has_lists ? (at == 0 ? 0 : table.ends[at - 1]) : at; k < end; ++k) {
          visit(static_cast<int64_t>(t), s, views_[t].first_row + table.positions[k],
                table.weights.empty() ? 1.0f : table.weights[k]);
        }
      }
    }
  }

  const int64_t first_sample, sample_count;
  int64_t row_count = 0;

 private:
  template <typename T>
  static device::Pointer<const T> Lend(const std::vector<T>& values) {
    return device::OnCpu(values.empty() ? nullptr : values.data());
  }

  std::vector<Table> tables_;
  std::vector<kernels::TableView> views_;
};

}  // namespace weir::test
