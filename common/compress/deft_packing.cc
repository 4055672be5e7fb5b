#include "common/compress/deft_packing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "common/base/check.h"

namespace weir::compress {
namespace {

struct PricedPiece {
  size_t number;
  double cost;
};

// The lightest on top, the first of equals.
using BinQueue = std::priority_queue<std::pair<double, size_t>,
                                     std::vector<std::pair<double, size_t>>, std::greater<>>;

using Bins = std::vector<std::vector<size_t>>;

// The cost of the costliest bin. priced: the costliest first.
double PackByCost(const std::vector<PricedPiece>& priced, Bins* bins) {
  BinQueue loads;
  double most = 0;
  for (size_t bin = 0; bin < bins->size(); ++bin) loads.emplace(0.0, bin);
  for (const PricedPiece& piece : priced) {
    const auto [load, bin] = loads.top();
    loads.pop();
    (*bins)[bin].push_back(piece.number);
    loads.emplace(load + piece.cost, bin);
    most = std::max(most, load + piece.cost);
  }
  return most;
}

// Each piece into the first bin that has room; nothing where one has none.
std::optional<Bins> FirstFit(const std::vector<PricedPiece>& priced, size_t bin_count,
                             double room) {
  Bins bins(bin_count);
  std::vector<double> loads(bin_count);
  for (const PricedPiece& piece : priced) {
    size_t bin = 0;
    while (bin < bin_count && loads[bin] + piece.cost > room) ++bin;
    if (bin == bin_count) return std::nullopt;
    loads[bin] += piece.cost;
    bins[bin].push_back(piece.number);
  }
  return bins;
}

// most: of the costliest bin so far.
void PackTighter(const std::vector<PricedPiece>& priced, double most, Bins* bins) {
  constexpr int kHalvings = 10;
  double least = 0;
  for (const PricedPiece& piece : priced) least += piece.cost;
  least /= static_cast<double>(bins->size());
  for (int i = 0; i < kHalvings; ++i) {
    const double room = (least + most) / 2;
    std::optional<Bins> tighter = FirstFit(priced, bins->size(), room);
    if (tighter) *bins = std::move(*tighter);
    (tighter ? most : least) = room;
  }
}

}  // namespace

double CostOf(DeftCost cost, int64_t size, int64_t count) {
  const auto elements = static_cast<double>(size);
  if (cost == DeftCost::kElements || count <= 1) return elements;
  return elements * std::log2(static_cast<double>(count));
}

DeftPacking PackForDeft(std::span<const DeftPiece> pieces, std::span<const int64_t> counts,
                        int bin_count, DeftCost cost) {
  CHECK_EQ(counts.size(), pieces.size());
  CHECK_GT(bin_count, 0);
  DeftPacking packing;
  packing.bins.resize(static_cast<size_t>(bin_count));
  std::vector<PricedPiece> priced;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (counts[i] >= pieces[i].size) {
      packing.common.push_back(i);
    } else {
      priced.push_back({.number = i, .cost = CostOf(cost, pieces[i].size, counts[i])});
    }
  }
  std::stable_sort(priced.begin(), priced.end(),
                   [](const PricedPiece& a, const PricedPiece& b) { return a.cost > b.cost; });
  const double most = PackByCost(priced, &packing.bins);
  if (cost == DeftCost::kElements) PackTighter(priced, most, &packing.bins);
  return packing;
}

Bytes TellDeftPacking(const DeftPacking& packing) {
  CHECK(packing.common.empty());
  std::vector<size_t> bin_of;
  for (size_t bin = 0; bin < packing.bins.size(); ++bin) {
    for (const size_t piece : packing.bins[bin]) {
      bin_of.resize(std::max(bin_of.size(), piece + 1));
      bin_of[piece] = bin;
    }
  }
  Bytes told;
  ByteWriter writer(told);
  for (const size_t bin : bin_of) writer.PutVarint(bin);
  return told;
}

std::optional<DeftPacking> HearDeftPacking(ByteSpan told, size_t piece_count, int bin_count) {
  ByteReader reader(told);
  DeftPacking packing = {.bins = std::vector<std::vector<size_t>>(static_cast<size_t>(bin_count)),
                         .common = {}};
  for (size_t piece = 0; piece < piece_count; ++piece) {
    const uint64_t bin = reader.GetVarint();
    if (!reader.ok() || bin >= packing.bins.size()) return std::nullopt;
    packing.bins[bin].push_back(piece);
  }
  if (reader.remaining() > 0) return std::nullopt;
  return packing;
}

int DeftLeader(int64_t step, int trainer_count) {
  CHECK_GE(step, 0);
  CHECK_GT(trainer_count, 0);
  return static_cast<int>(step % trainer_count);
}

int DeftBin(int leader, int trainer, int trainer_count) {
  CHECK_GT(trainer_count, 0);
  CHECK(leader >= 0 && leader < trainer_count) << leader << " of " << trainer_count;
  CHECK(trainer >= 0 && trainer < trainer_count) << trainer << " of " << trainer_count;
  return (leader + trainer) % trainer_count;
}

}  // namespace weir::compress
