// Rows of tables, their vectors and the products of these: of eighths, to the bit, but for the
// order in which gradients of rows add up.
#include <vector>

#include "tests/common/kernels/random_tables.h"
#include "tests/gpu/kernels/operations.h"

namespace weir::gpu {
namespace {

using test::Bench;
using test::ExpectSame;
using test::PlacedMatrix;
using test::RandomTables;

// Its tables on a bench.
class PlacedTables {
 public:
  PlacedTables(const Bench& bench, const RandomTables& tables)
      : first_sample_(tables.first_sample) {
    int64_t first_row = 0;
    for (const RandomTables::Table& table : tables.tables()) {
      positions_.push_back(bench.Put(table.positions));
      ends_.push_back(bench.Put(table.ends));
      weights_.push_back(bench.Put(table.weights));
      views_.push_back(
          {positions_.back().data(), table.ends.empty() ? nullptr : ends_.back().data(),
           table.weights.empty() ? nullptr : weights_.back().data(), first_row, table.row_count});
      first_row += table.row_count;
    }
    on_device_ = bench.Put(views_);
  }
  kernels::TablesView view() const {
    return {on_device_.data(), std::ssize(views_), first_sample_};
  }

 private:
  const int64_t first_sample_;
  std::vector<device::Buffer<uint32_t>> positions_, ends_;
  std::vector<device::Buffer<float>> weights_;
  std::vector<kernels::TableView> views_;
  device::Buffer<kernels::TableView> on_device_;
};

// Of batches of any size, the first few empty or of one sample.
RandomTables DrawTables(uint64_t seed, RandomStream* random) {
  return RandomTables(random, seed < 4 ? static_cast<int64_t>(seed / 2) : 70);
}

TEST(TablesOnACard, VectorsAreTheCpus) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const RandomTables tables = DrawTables(seed, &random);
    const int64_t dimension = 1 + test::RandomSize(40, &random), samples = tables.sample_count;
    ExpectSame([&](const Bench& bench) {
      const PlacedTables placed(bench, tables);
      const PlacedMatrix rows(bench, tables.row_count, dimension, dimension, 1);
      const PlacedMatrix vectors(bench, tables.table_count() * dimension, samples, samples + 3, 2);
      bench.compute.kernels->pool_tables(bench.stream, rows.view(), placed.view(), vectors.view());
      return vectors.Contents();
    });
  }
}

TEST(TablesOnACard, GradientsOfRowsAndTheirSquaresAreTheCpus) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const RandomTables tables = DrawTables(seed, &random);
    const int64_t dimension = 1 + test::RandomSize(40, &random), samples = tables.sample_count;
    for (const bool with_squares : {false, true}) {
      ExpectSame([&](const Bench& bench) {
        const PlacedTables placed(bench, tables);
        const PlacedMatrix gradients(bench, tables.table_count() * dimension, samples, samples + 3,
                                     1);
        const PlacedMatrix rows(bench, tables.row_count, dimension, dimension, 2);
        const PlacedMatrix squares(bench, 1, tables.row_count, tables.row_count, 3);
        bench.compute.kernels->scatter_tables(
            bench.stream, gradients.view(), placed.view(), rows.view(),
            with_squares ? squares.vector() : kernels::DeviceVector());
        std::vector<float> all = rows.Contents();
        for (const float square : squares.Contents()) all.push_back(square);
        return all;
      });
    }
  }
}

// Two samples, of which neither has any row of either table: there is none.
TEST(TablesOnACard, OfNoRowsVectorsAreZero) {
  ExpectSame([&](const Bench& bench) {
    const device::Buffer<uint32_t> ends = bench.Put<uint32_t>({0, 0});
    const kernels::TableView table{nullptr, ends.data(), nullptr, 0, 0};
    const device::Buffer<kernels::TableView> tables = bench.Put<kernels::TableView>({table, table});
    const PlacedMatrix rows(bench, 0, 3, 3, 1), vectors(bench, 6, 2, 16, 2);
    const kernels::TablesView view{tables.data(), 2, 0};
    bench.compute.kernels->pool_tables(bench.stream, rows.view(), view, vectors.view());
    const std::vector<float> pooled = vectors.Contents();
    EXPECT_EQ(pooled, std::vector<float>(12));
    bench.compute.kernels->scatter_tables(bench.stream, vectors.view(), view, rows.view(), {});
    bench.Finish();
    EXPECT_TRUE(rows.Contents().empty());
    return pooled;
  });
}

struct VectorsShape {
  int64_t vectors, dimension, samples;
};

constexpr VectorsShape kVectorsShapes[] = {
    {1, 3, 5}, {3, 2, 0}, {2, 1, 1}, {5, 4, 33}, {9, 16, 130}};

TEST(InteractionOnACard, ProductsAndTheirGradientsAreTheCpus) {
  for (const VectorsShape& shape : kVectorsShapes) {
    for (const auto pairs : {kernels::Pairs::kDistinct, kernels::Pairs::kWithSelf}) {
      const bool with_self = pairs == kernels::Pairs::kWithSelf;
      const int64_t products = shape.vectors * (shape.vectors + (with_self ? 1 : -1)) / 2;
      const int64_t width = shape.dimension + products, features = shape.vectors * shape.dimension;
      const int64_t stride = kernels::PaddedStride(shape.samples);
      ExpectSame([&](const Bench& bench) {
        const PlacedMatrix vectors(bench, features, shape.samples, stride, 1);
        const PlacedMatrix output(bench, width, shape.samples, stride, 2);
        bench.compute.kernels->interaction_forward(bench.stream, vectors.view(), shape.dimension,
                                                   pairs, output.view());
        return output.Contents();
      });
      ExpectSame([&](const Bench& bench) {
        const PlacedMatrix vectors(bench, features, shape.samples, stride, 1);
        const PlacedMatrix gradient(bench, width, shape.samples, stride, 2);
        const PlacedMatrix of_vectors(bench, features, shape.samples, stride, 3);
        bench.compute.kernels->interaction_backward(bench.stream, vectors.view(), shape.dimension,
                                                    pairs, gradient.view(), of_vectors.view());
        return of_vectors.Contents();
      });
    }
  }
}

}  // namespace
}  // namespace weir::gpu
