#include "common/compress/deft_pieces.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/check.h"

namespace weir::compress {
namespace {

using Pieces = std::span<const DeftPiece>;
using Turns = std::vector<size_t>;

int64_t ElementsOf(Pieces pieces) {
  int64_t elements = 0;
  for (const DeftPiece& piece : pieces) elements += piece.size;
  return elements;
}

std::vector<double> UsableNorms(std::span<const double> norms) {
  std::vector<double> usable;
  usable.reserve(norms.size());
  for (const double norm : norms) usable.push_back(std::isfinite(norm) && norm > 0 ? norm : 0);
  return usable;
}

Turns ByDecreasingNorm(const std::vector<double>& norms) {
  Turns turns(norms.size());
  std::iota(turns.begin(), turns.end(), size_t{0});
  std::stable_sort(turns.begin(), turns.end(),
                   [&norms](size_t a, size_t b) { return norms[a] > norms[b]; });
  return turns;
}

// Of each turn: its weight in the weights from it on. 1 for the last that has any, 0 after it.
std::vector<double> Shares(const Turns& turns, const std::vector<double>& weights) {
  std::vector<double> shares(turns.size());
  double sum = 0;
  for (size_t turn = turns.size(); turn-- > 0;) {
    const double weight = weights[turns[turn]];
    sum += weight;
    shares[turn] = weight > 0 ? weight / sum : 0;
  }
  return shares;
}

int64_t ShareOf(int64_t left, double share) {
  return static_cast<int64_t>(static_cast<double>(left) * share);
}

// Algorithm 3, lines 4 to 12.
std::vector<int64_t> DealOnce(Pieces pieces, const Turns& turns, const std::vector<double>& norms,
                              int64_t target, bool leave_some) {
  const std::vector<double> shares = Shares(turns, norms);
  std::vector<int64_t> counts(pieces.size());
  int64_t left = target;
  auto followers = static_cast<int64_t>(pieces.size());
  for (size_t turn = 0; turn < turns.size(); ++turn) {
    --followers;
    int64_t count = ShareOf(left, shares[turn]);
    if (leave_some) count = std::min(count, left - followers);
    count = std::min(std::max<int64_t>(1, count), pieces[turns[turn]].size);
    counts[turns[turn]] = count;
    left -= count;
  }
  return counts;
}

// The norms of pieces that have elements left; where all those are 0, how many are left.
std::vector<double> OpenWeights(Pieces pieces, const std::vector<double>& norms,
                                const std::vector<int64_t>& counts) {
  std::vector<double> weights(pieces.size()), rooms(pieces.size());
  bool has_norm = false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    rooms[i] = static_cast<double>(pieces[i].size - counts[i]);
    if (rooms[i] > 0) weights[i] = norms[i];
    has_norm |= weights[i] > 0;
  }
  return has_norm ? weights : rooms;
}

// The last piece with a weight takes all that it is left, or is full afterwards: there are no more
// rounds than pieces. left: no more than there is.
void DealLeftOver(Pieces pieces, const Turns& turns, const std::vector<double>& norms, int64_t left,
                  std::vector<int64_t>* counts) {
  while (left > 0) {
    const std::vector<double> shares = Shares(turns, OpenWeights(pieces, norms, *counts));
    for (size_t turn = 0; turn < turns.size(); ++turn) {
      int64_t& count = (*counts)[turns[turn]];
      const int64_t more = std::min(ShareOf(left, shares[turn]), pieces[turns[turn]].size - count);
      count += more;
      left -= more;
    }
  }
}

}  // namespace

std::vector<DeftPiece> CutForDeft(std::span<const int64_t> tensor_sizes, int trainer_count) {
  CHECK_GT(trainer_count, 0);
  const int64_t elements = std::accumulate(tensor_sizes.begin(), tensor_sizes.end(), int64_t{0});
  std::vector<DeftPiece> pieces;
  int64_t begin = 0;
  for (size_t tensor = 0; tensor < tensor_sizes.size(); ++tensor) {
    const int64_t size = tensor_sizes[tensor];
    CHECK_GE(size, 0) << "tensor " << tensor;
    // More than elements / n, which need not be whole; of the size, so that it cannot overflow.
    const bool split = size > elements / trainer_count;
    const int64_t parts = split ? trainer_count : 1;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t length = size / parts + (part < size % parts ? 1 : 0);
      if (length > 0) pieces.push_back({.tensor = tensor, .begin = begin, .size = length});
      begin += length;
    }
  }
  return pieces;
}

std::vector<int64_t> DeftCounts(std::span<const DeftPiece> pieces, std::span<const double> norms,
                                int64_t target, DeftDealing dealing) {
  CHECK_EQ(norms.size(), pieces.size());
  CHECK_GE(target, 0);
  const int64_t sent = std::min(target, ElementsOf(pieces));
  const std::vector<double> usable = UsableNorms(norms);
  const Turns turns = ByDecreasingNorm(usable);
  if (dealing == DeftDealing::kOnce) return DealOnce(pieces, turns, usable, sent, false);
  std::vector<int64_t> counts = DealOnce(pieces, turns, usable, sent, true);
  const int64_t dealt = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  DealLeftOver(pieces, turns, usable, sent - dealt, &counts);
  return counts;
}

}  // namespace weir::compress
