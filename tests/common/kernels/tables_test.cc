// All tables of a batch at once, against plain loops.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/random_matrices.h"
#include "tests/common/kernels/random_tables.h"

namespace weir::kernels {
namespace {

using test::Contents;
using test::RandomMatrix;
using test::RandomSize;
using test::RandomStride;
using test::RandomTables;

TEST(TableKernels, PoolSumsTheRowsOfEachSampleForAllTables) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const RandomTables tables(&random);
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
    const RandomTables tables(&random);
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
