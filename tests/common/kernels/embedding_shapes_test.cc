// What is done to the rows of tables, exactly, for rows of any width at any address.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "common/kernels/cpu_functions.h"
#include "tests/common/kernels/each_target.h"
#include "tests/common/kernels/gradient_check.h"
#include "tests/common/kernels/random_matrices.h"

namespace weir::kernels {
namespace {

using test::Contents;
using test::RandomMatrix;
using test::RandomSize;
using test::RandomStride;
using test::Widen;

// A row for each sample, or a list of them.
enum class Choice { kRow, kList, kWeightedList };

// Which rows samples choose. Lists begin after what another slice has before them.
struct ChosenRows {
  ChosenRows(Choice choice, int64_t row_count_in, int64_t sample_count, RandomStream* random)
      : row_count(row_count_in), is_weighted(choice == Choice::kWeightedList) {
    begin = choice == Choice::kRow ? 0 : static_cast<uint32_t>(random->NextBelow(4));
    for (uint32_t k = 0; k < begin; ++k) Append(random);
    for (int64_t s = 0; s < sample_count; ++s) {
      const uint64_t count = choice == Choice::kRow ? 1 : random->NextBelow(5);
      for (uint64_t k = 0; k < count; ++k) Append(random);
      ends.push_back(static_cast<uint32_t>(indexes.size()));
    }
  }

  int64_t sample_count() const { return static_cast<int64_t>(ends.size()); }
  IndexView positions() const { return {indexes.data(), sample_count()}; }
  ListsView lists() const {
    return {indexes.data(), is_weighted ? weights.data() : nullptr, ends.data(), begin,
            sample_count()};
  }

  // [samples, rows]: how much of each row each sample has. All else is a product with it.
  std::vector<double> Shares() const {
    std::vector<double> shares(ends.size() * static_cast<size_t>(row_count));
    size_t k = begin;
    for (size_t s = 0; s < ends.size(); ++s) {
      for (; k < ends[s]; ++k) {
        shares[s * static_cast<size_t>(row_count) + indexes[k]] +=
            is_weighted ? static_cast<double>(weights[k]) : 1;
      }
    }
    return shares;
  }

  int64_t row_count;
  bool is_weighted;
  uint32_t begin;
  std::vector<uint32_t> indexes, ends;
  std::vector<float> weights;

 private:
  // Halves, so that the squares' sums are exact.
  void Append(RandomStream* random) {
    indexes.push_back(static_cast<uint32_t>(random->NextBelow(static_cast<uint64_t>(row_count))));
    weights.push_back(static_cast<float>(random->NextBelow(5)) / 2 - 1);
  }
};

// A table, the gradients of samples, what results are written over, and what they must become.
struct ExactRows {
  ExactRows(int64_t width, const ChosenRows& chosen, RandomStream* random)
      : rows(RandomMatrix::Input(chosen.row_count, width, RandomStride(width, random), random)),
        gradients(
            RandomMatrix::Input(chosen.sample_count(), width, RandomStride(width, random), random)),
        samples(RandomMatrix::Output(chosen.sample_count(), width, RandomStride(width, random),
                                     random)),
        row_gradients(
            RandomMatrix::Output(chosen.row_count, width, RandomStride(width, random), random)),
        squares(RandomMatrix::Output(1, chosen.row_count, chosen.row_count, random)),
        expected_samples(static_cast<size_t>(chosen.sample_count() * width)),
        expected_gradients(Widen(Contents(row_gradients.view()))),
        expected_squares(Widen(Contents(squares.view()))) {
    const std::vector<double> shares = chosen.Shares();
    for (int64_t s = 0; s < chosen.sample_count(); ++s) {
      for (int64_t r = 0; r < chosen.row_count; ++r) {
        AddShare(shares[static_cast<size_t>(s * chosen.row_count + r)], s, r);
      }
    }
  }

  void AddShare(double share, int64_t s, int64_t r) {
    const int64_t width = rows.view().column_count;
    const float *const row = std::as_const(rows).view().row(r),
                       *const gradient = std::as_const(gradients).view().row(s);
    for (int64_t c = 0; c < width; ++c) {
      expected_samples[static_cast<size_t>(s * width + c)] += share * row[c];
      expected_gradients[static_cast<size_t>(r * width + c)] += share * gradient[c];
      expected_squares[static_cast<size_t>(r)] += std::pow(share * gradient[c], 2);
    }
  }

  RandomMatrix rows, gradients, samples, row_gradients, squares;
  std::vector<double> expected_samples, expected_gradients, expected_squares;
};

void ExpectResult(const RandomMatrix& result, const std::vector<double>& expected) {
  EXPECT_EQ(Widen(Contents(result.view())), expected);
  EXPECT_TRUE(result.IsIntactAround());
}

void ExpectForRows(const ExactRows& exact, const ChosenRows& chosen) {
  RandomMatrix samples = exact.samples, gradients = exact.row_gradients, squares = exact.squares;
  cpu::GatherRows(exact.rows.view(), chosen.positions(), samples.view());
  cpu::ScatterAddRows(exact.gradients.view(), chosen.positions(), gradients.view());
  cpu::ScatterAddSquares(exact.gradients.view(), chosen.positions(),
                         {squares.view().data, chosen.row_count});
  ExpectResult(samples, exact.expected_samples);
  ExpectResult(gradients, exact.expected_gradients);
  ExpectResult(squares, exact.expected_squares);
}

void ExpectForLists(const ExactRows& exact, const ChosenRows& chosen) {
  RandomMatrix samples = exact.samples, gradients = exact.row_gradients, squares = exact.squares;
  cpu::PoolRows(exact.rows.view(), chosen.lists(), samples.view());
  cpu::ScatterAddLists(exact.gradients.view(), chosen.lists(), gradients.view());
  cpu::ScatterAddListSquares(exact.gradients.view(), chosen.lists(),
                             {squares.view().data, chosen.row_count});
  ExpectResult(samples, exact.expected_samples);
  ExpectResult(gradients, exact.expected_gradients);
  ExpectResult(squares, exact.expected_squares);
}

// Two whole vectors of the widest, and every rest; more samples than rows are fetched ahead.
template <typename Expect>
void ForEachWidth(Choice choice, const Expect& expect) {
  for (int64_t width = 0; width <= 40; ++width) {
    SCOPED_TRACE(::testing::Message() << "width and seed " << width);
    RandomStream random(static_cast<uint64_t>(width));
    const int64_t row_count = 1 + RandomSize(20, &random);
    const ChosenRows chosen(choice, row_count, RandomSize(90, &random), &random);
    const ExactRows exact(width, chosen, &random);
    test::ForEachTarget([&] { expect(exact, chosen); });
  }
}

TEST(EmbeddingShapes, ARowForEachSampleIsExactForAnyWidthAtAnyAddress) {
  ForEachWidth(Choice::kRow, ExpectForRows);
}

TEST(EmbeddingShapes, AListForEachSampleIsExactForAnyWidthAtAnyAddress) {
  ForEachWidth(Choice::kList, ExpectForLists);
}

TEST(EmbeddingShapes, AWeightedListForEachSampleIsExactForAnyWidthAtAnyAddress) {
  ForEachWidth(Choice::kWeightedList, ExpectForLists);
}

}  // namespace
}  // namespace weir::kernels
