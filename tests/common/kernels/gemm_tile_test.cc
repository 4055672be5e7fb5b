#include "common/kernels/gemm_tile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/common/kernels/each_target.h"
#include "tests/common/kernels/gradient_check.h"
#include "tests/common/kernels/random_matrices.h"

namespace weir::kernels::cpu {
namespace {

using test::RandomFloats;
using test::RandomMatrix;
using test::RandomSize;
using test::RandomStride;

struct Operands {
  explicit Operands(const GemmTileShape& s)
      : a(RandomFloats(static_cast<size_t>(s.lda * s.k), 1)),
        b(RandomFloats(static_cast<size_t>(s.ldb * (s.transpose_b ? s.k : s.n)), 2)),
        c(RandomFloats(static_cast<size_t>(s.ldc * s.n), 3)) {}
  std::vector<float> a, b, c;
};

using Form = std::tuple<bool, bool>;  // transpose_b, accumulate

class GemmTileForms : public ::testing::TestWithParam<Form> {
 protected:
  std::vector<GemmTileShape> Shapes() const {
    const auto [transpose_b, accumulate] = GetParam();
    std::vector<GemmTileShape> shapes;
    for (const auto& [m, n, k] : {std::tuple(1, 1, 1),
                                  {8, 3, 5},
                                  {32, 64, 128},
                                  {32, 7, 13},
                                  {16, 64, 1},
                                  {5, 2, 9},
                                  {64, 64, 128},
                                  {64, 7, 13},
                                  {56, 64, 9},
                                  {48, 3, 5}}) {
      const int64_t ldb = (transpose_b ? n : k) + 2;
      shapes.push_back({m, n, k, m + 3, ldb, m + 1, transpose_b, accumulate});
    }
    return shapes;
  }
};

// Column-major sums in 64 bits.
void ExpectTheDefinition(const GemmTileShape& s, const Operands& o, const std::vector<float>& old) {
  for (int64_t j = 0; j < s.n; ++j) {
    for (int64_t i = 0; i < s.ldc; ++i) {
      const auto at = static_cast<size_t>(j * s.ldc + i);
      double expected = i < s.m && !s.accumulate ? 0.0 : old[at];
      for (int64_t p = 0; p < s.k && i < s.m; ++p) {
        const int64_t b_at = s.transpose_b ? p * s.ldb + j : j * s.ldb + p;
        expected +=
            double(o.a[static_cast<size_t>(p * s.lda + i)]) * o.b[static_cast<size_t>(b_at)];
      }
      ASSERT_NEAR(o.c[at], expected, 1e-5) << s.m << " " << s.n << " " << s.k;
    }
  }
}

TEST_P(GemmTileForms, PortableCodeOfEachInstructionSetDoesWhatTheDefinitionSays) {
  for (const GemmTileShape& s : Shapes()) {
    test::ForEachTarget([&s] {
      Operands o(s);
      const std::vector<float> old = o.c;
      GemmTile::MultiplyPortably(s, o.a.data(), o.b.data(), o.c.data());
      ExpectTheDefinition(s, o, old);
    });
  }
}

// Code is generated for AVX and later.
bool ProcessorHasGenerator() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx");
#else
  return false;
#endif
}

TEST_P(GemmTileForms, GeneratedCodeDoesWhatPortableCodeDoes) {
  for (const GemmTileShape& s : Shapes()) {
    Operands generated(s), portable(s);
    const GemmTile tile(s);
    ASSERT_TRUE(tile.is_generated() || !ProcessorHasGenerator()) << s.m << " " << s.n << " " << s.k;
    tile(generated.a.data(), generated.b.data(), generated.c.data());
    GemmTile::MultiplyPortably(s, portable.a.data(), portable.b.data(), portable.c.data());
    for (size_t i = 0; i < portable.c.size(); ++i)
      ASSERT_NEAR(generated.c[i], portable.c[i], 1e-5) << i;
  }
}

// A tile at any address, and what must come of it, [n, m]. Column-major a, b and c are row-major
// when turned.
struct ExactTile {
  ExactTile(const GemmTileShape& shape_in, RandomStream* random)
      : shape(shape_in),
        a(RandomMatrix::Input(shape.k, shape.m, shape.lda, random)),
        b(shape.transpose_b ? RandomMatrix::Input(shape.k, shape.n, shape.ldb, random)
                            : RandomMatrix::Input(shape.n, shape.k, shape.ldb, random)),
        c(RandomMatrix::Output(shape.n, shape.m, shape.ldc, random)) {
    const ConstMatrixView rows = std::as_const(a).view(), factors = std::as_const(b).view();
    for (int64_t j = 0; j < shape.n; ++j) {
      for (int64_t i = 0; i < shape.m; ++i) {
        double sum = shape.accumulate ? c.view().row(j)[i] : 0;
        for (int64_t p = 0; p < shape.k; ++p) {
          const float factor = shape.transpose_b ? factors.row(p)[j] : factors.row(j)[p];
          sum += double{rows.row(p)[i]} * factor;
        }
        expected.push_back(sum);
      }
    }
  }

  // multiply(a, b, c).
  template <typename Multiply>
  void Expect(const Multiply& multiply) const {
    RandomMatrix result = c;
    multiply(a.view().data, b.view().data, result.view().data);
    EXPECT_EQ(test::Widen(test::Contents(result.view())), expected);
    EXPECT_TRUE(result.IsIntactAround());
  }

  GemmTileShape shape;
  RandomMatrix a, b, c;
  std::vector<double> expected;
};

// Code is generated for tiles that have a size; no caller has others.
TEST_P(GemmTileForms, AreExactForAnyShapeAtAnyAddress) {
  const auto [transpose_b, accumulate] = GetParam();
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random(seed);
    const int64_t m = RandomSize(70, &random), n = RandomSize(70, &random),
                  k = RandomSize(130, &random);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << m << " " << n << " " << k);
    const GemmTileShape s{.m = m,
                          .n = n,
                          .k = k,
                          .lda = RandomStride(m, &random),
                          .ldb = RandomStride(transpose_b ? n : k, &random),
                          .ldc = RandomStride(m, &random),
                          .transpose_b = transpose_b,
                          .accumulate = accumulate};
    const ExactTile tile(s, &random);
    test::ForEachTarget([&] {
      tile.Expect([&s](const float* a, const float* b, float* c) {
        GemmTile::MultiplyPortably(s, a, b, c);
      });
    });
    if (m > 0 && n > 0 && k > 0) tile.Expect(GemmTile(s));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, GemmTileForms,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()));

int64_t ThreadCount() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST(GemmTile, TheFastestWidthIsOfWholeVectorsAndWithinItsBound) {
  EXPECT_GT(GemmTile::FastestM(), 0);
  EXPECT_LE(GemmTile::FastestM(), GemmTile::kLargestM);
  EXPECT_EQ(GemmTile::FastestM() % 8, 0);
}

TEST(GemmTile, StartsNoThreadFromAnyThread) {
  int64_t before = 0, after = 0;
  std::thread hogwild([&] {
    const GemmTileShape shape{32, 64, 128, 32, 128, 32};
    Operands o(shape);
    before = ThreadCount();
    for (int i = 0; i < 3; ++i) {
      const GemmTile tile(shape);
      tile(o.a.data(), o.b.data(), o.c.data());
    }
    after = ThreadCount();
  });
  hogwild.join();
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace weir::kernels::cpu
