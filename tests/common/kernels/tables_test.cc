// All tables of a batch at once, against plain loops.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "common/device/cpu_device.h"
#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/random_matrices.h"

namespace weir::kernels {
namespace {

using test::Contents;
using test::RandomMatrix;
using test::RandomSize;
using test::RandomStride;

struct Table {
  std::vector<uint32_t> positions, ends;
  std::vector<float> weights;
  int64_t row_count = 0;
};

// Tables of any size, of which some have lists, and some of these weights. Samples of a slice that
// begins anywhere in a batch.
class Tables {
 public:
  explicit Tables(RandomStream* random)
      : first_sample(RandomSize(9, random)), sample_count(RandomSize(70, random)) {
    const auto batch = static_cast<size_t>(first_sample + sample_count);
    tables_.resize(1 + random->NextBelow(4));
    for (Table& table : tables_) {
      table.row_count = 1 + RandomSize(20, random);
      const bool has_lists = random->NextBelow(2) == 0, has_weights = random->NextBelow(2) == 0;
      for (size_t s = 0; s < batch; ++s) {
        for (uint64_t k = has_lists ? random->NextBelow(4) : 1; k > 0; --k) {
          table.positions.push_back(
              static_cast<uint32_t>(random->NextBelow(static_cast<uint64_t>(table.row_count))));
          if (has_lists && has_weights) table.weights.push_back(test::RandomEighth(random));
        }
        if (has_lists) table.ends.push_back(static_cast<uint32_t>(table.positions.size()));
      }
      views_.push_back({Lend(table.positions), Lend(table.ends), Lend(table.weights), row_count,
                        table.row_count});
      row_count += table.row_count;
    }
  }

  TablesView view() const {
    return {device::OnCpu(views_.data()), std::ssize(views_), first_sample};
  }
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
  std::vector<TableView> views_;
};

TEST(TableKernels, PoolSumsTheRowsOfEachSampleForAllTables) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const Tables tables(&random);
    const int64_t dimension = 1 + RandomSize(20, &random);
    const RandomMatrix rows = RandomMatrix::Input(tables.row_count, dimension, dimension, &random);
    RandomMatrix vectors =
        RandomMatrix::Output(tables.table_count() * dimension, tables.sample_count,
                             RandomStride(tables.sample_count, &random), &random);
    std::vector<float> expected(Contents(vectors.view()).size());
    tables.ForEach([&](int64_t t, int64_t s, int64_t row, float weight) {
      for (int64_t d = 0; d < dimension; ++d) {
        expected[static_cast<size_t>((t * dimension + d) * tables.sample_count + s)] +=
            weight * rows.view().row(row)[d];
      }
    });
    CpuKernels().pool_tables(rows.view(), tables.view(), vectors.view());
    EXPECT_EQ(Contents(vectors.view()), expected);
    EXPECT_TRUE(vectors.IsIntactAround());
  }
}

TEST(TableKernels, ScatterAddsEachSamplesGradientToTheRowsThatItHas) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const Tables tables(&random);
    const int64_t dimension = 1 + RandomSize(20, &random);
    const RandomMatrix gradients =
        RandomMatrix::Input(tables.table_count() * dimension, tables.sample_count,
                            RandomStride(tables.sample_count, &random), &random);
    RandomMatrix row_gradients =
        RandomMatrix::Output(tables.row_count, dimension, dimension, &random);
    std::vector<float> expected = Contents(row_gradients.view());
    tables.ForEach([&](int64_t t, int64_t s, int64_t row, float weight) {
      for (int64_t d = 0; d < dimension; ++d) {
        expected[static_cast<size_t>(row * dimension + d)] +=
            weight * gradients.view().row(t * dimension + d)[s];
      }
    });
    CpuKernels().scatter_tables(gradients.view(), tables.view(), row_gradients.view(), {});
    EXPECT_EQ(Contents(row_gradients.view()), expected);
    EXPECT_TRUE(row_gradients.IsIntactAround());
  }
}

}  // namespace
}  // namespace weir::kernels
