// What the authors' public code of DEFT sends (kljp/deft), and our parts of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "common/compress/deft_packing.h"
#include "tests/common/compress/published_gradients.h"

namespace weir::compress {
namespace {

// DEFT of its parts, as the code puts them together: the packing is of the step itself, and a piece
// of which all is sent is in no bin. (Ours takes the packing of the step before: deft.cc.)
class DeftRun {
 public:
  DeftRun(std::vector<int64_t> sizes, std::vector<float> scales, int64_t target)
      : sizes_(std::move(sizes)),
        scales_(std::move(scales)),
        pieces_(CutForDeft(sizes_, kWorkers)),
        target_(target),
        kept_(kWorkers, std::vector<float>(scales_.size())) {}

  Union Step() {
    std::vector<std::vector<int64_t>> counts;
    for (uint32_t rank = 0; rank < kWorkers; ++rank) {
      TakeIn(GradientOf(step_, rank, sizes_, scales_), &kept_[rank]);
      counts.push_back(DeftCounts(pieces_, NormsOf(kept_[rank]), target_, DeftDealing::kOnce));
    }
    const int leader = DeftLeader(step_++, kWorkers);
    packing_ = PackForDeft(pieces_, counts[static_cast<size_t>(leader)], kWorkers, DeftCost::kHeap);
    std::set<int64_t> sent;
    for (const size_t piece : packing_.common) Select(pieces_[piece].size, piece, 0, &sent);
    for (int rank = 0; rank < static_cast<int>(kWorkers); ++rank) {
      const auto of_rank = static_cast<size_t>(rank);
      for (const size_t piece :
           packing_.bins[static_cast<size_t>(DeftBin(leader, rank, kWorkers))]) {
        Select(counts[of_rank][piece], piece, of_rank, &sent);
      }
    }
    return Send(sent);
  }

  const std::vector<DeftPiece>& pieces() const { return pieces_; }
  const DeftPacking& packing() const { return packing_; }

 private:
  static void TakeIn(const Layers& gradient, std::vector<float>* kept) {
    size_t i = 0;
    for (const std::vector<float>& layer : gradient) {
      for (const float value : layer) (*kept)[i++] += value;
    }
  }

  std::vector<double> NormsOf(const std::vector<float>& kept) const {
    std::vector<double> norms;
    for (const DeftPiece& piece : pieces_) {
      double squares = 0;
      for (int64_t i = piece.begin; i < piece.end(); ++i) {
        squares += std::pow(kept[static_cast<size_t>(i)], 2);
      }
      norms.push_back(std::sqrt(squares));
    }
    return norms;
  }

  void Select(int64_t count, size_t piece, size_t rank, std::set<int64_t>* sent) const {
    std::vector<int64_t> indexes(static_cast<size_t>(pieces_[piece].size));
    std::iota(indexes.begin(), indexes.end(), pieces_[piece].begin);
    std::ranges::sort(indexes, std::greater(), [&](int64_t index) {
      return std::abs(kept_[rank][static_cast<size_t>(index)]);
    });
    sent->insert(indexes.begin(), indexes.begin() + count);
  }

  Union Send(const std::set<int64_t>& sent) {
    Union all;
    for (const int64_t index : sent) {
      ++all.count;
      all.hash = all.hash * 31 + static_cast<uint32_t>(index);
      for (std::vector<float>& kept : kept_) kept[static_cast<size_t>(index)] = 0;
    }
    return all;
  }

  const std::vector<int64_t> sizes_;
  const std::vector<float> scales_;
  const std::vector<DeftPiece> pieces_;
  const int64_t target_;
  std::vector<std::vector<float>> kept_;  // gradient + residual of each worker
  int64_t step_ = 0;
  DeftPacking packing_;
};

std::vector<float> DeftScales(const std::vector<int64_t>& sizes) {
  std::vector<float> scales;
  for (size_t i = 0; i < sizes.size(); ++i) {
    scales.insert(scales.end(), static_cast<size_t>(sizes[i]),
                  i % 3 == 0   ? 16.0f
                  : i % 3 == 1 ? 64.0f
                               : 256.0f);
  }
  return scales;
}

TEST(PublishedDeft, SendsTheSame) {
  const std::vector<int64_t> sizes = {150, 10, 300, 20, 100, 4, 16, 1};
  DeftRun run(sizes, DeftScales(sizes), 30);
  std::vector<int64_t> begins;
  for (const DeftPiece& piece : run.pieces()) begins.push_back(piece.begin);
  EXPECT_EQ(begins, (std::vector<int64_t>{0, 150, 160, 235, 310, 385, 460, 480, 580, 584, 600}));
  using Bins = std::vector<std::vector<size_t>>;
  const Bins bins[] = {
      {{3}, {0, 5}, {2, 6, 9}, {7, 4, 1, 8}}, {{3, 1}, {5, 6, 9, 8}, {7, 2}, {4, 0}},
      {{3, 1}, {2, 6, 9}, {0, 5}, {4, 7}},    {{4}, {0, 7}, {2, 6, 9, 1, 8}, {3, 5}},
      {{2}, {4, 6, 9, 1, 8}, {0, 3}, {5, 7}}, {{5}, {3, 1}, {0, 4}, {7, 2, 6, 9, 8}},
      {{5, 9, 8}, {2, 6, 1}, {4, 7}, {0, 3}}, {{4, 9, 8}, {7, 6}, {3, 2}, {0, 5, 1}}};
  const Union published[] = {{57, 4173937407u}, {29, 3666838250u}, {32, 918238835u},
                             {19, 2449187975u}, {32, 4146141717u}, {29, 1695581717u},
                             {45, 2350531426u}, {21, 2778497688u}};
  for (size_t i = 0; i < std::size(bins); ++i) {
    EXPECT_EQ(run.Step(), published[i]);
    EXPECT_EQ(run.packing().bins, bins[i]);
    EXPECT_EQ(run.packing().common,
              i == 2 ? (std::vector<size_t>{8, 10}) : std::vector<size_t>{10});
  }
}

}  // namespace
}  // namespace weir::compress
