// The kernels of a step: operands as a step has them, bytes and operations as
// tools/pages/make_gpu_floors.py counts them.

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "tools/bench/placing.h"

namespace weir::bench {
namespace {

using kernels::Compute;

constexpr int64_t kVectors = kTables + 1, kPairs = kVectors * (kVectors - 1) / 2;
constexpr int64_t kInteractionRows = kDimension + kPairs;

void PlaceTranspose(int64_t n, Placing at) {
  const auto from = at.Matrix(n, kDenseFeatures, kDenseFeatures, 1);
  const auto to = at.Result(at.Activations(kDenseFeatures, n));
  at.Do([=] { at.kernels().transpose(at.stream(), from, to); });
}

// A row of its own for each sample in each table, in any order.
kernels::TablesView PlaceTables(int64_t n, Placing* at) {
  std::vector<uint32_t> positions(static_cast<size_t>(n));
  std::iota(positions.begin(), positions.end(), 0);
  std::minstd_rand random(1);
  std::vector<kernels::TableView> tables;
  for (int64_t t = 0; t < kTables; ++t) {
    std::shuffle(positions.begin(), positions.end(), random);
    tables.push_back({at->Put(positions), nullptr, nullptr, t * n, n});
  }
  return {.tables = at->Put(tables), .table_count = kTables};
}

void PlacePool(int64_t n, Placing at) {
  const auto rows = at.Matrix(kTables * n, kDimension, kDimension, 1);
  const auto tables = PlaceTables(n, &at);
  const auto vectors = at.Result(at.Activations(kTables * kDimension, n));
  at.Do([=] { at.kernels().pool_tables(at.stream(), rows, tables, vectors); });
}

void PlaceScatter(int64_t n, Placing at) {
  const auto gradients = at.Activations(kTables * kDimension, n, 1);
  const auto tables = PlaceTables(n, &at);
  const auto rows = at.Result(at.Matrix(kTables * n, kDimension, kDimension));
  at.Do([=] { at.kernels().scatter_tables(at.stream(), gradients, tables, rows, {}); });
}

void PlaceInteraction(int64_t n, Placing at) {
  const auto vectors = at.Activations(kVectors * kDimension, n, 1);
  const auto output = at.Result(at.Activations(kInteractionRows, n));
  at.Do([=] {
    at.kernels().interaction_forward(at.stream(), vectors, kDimension, kernels::Pairs::kDistinct,
                                     output);
  });
}

void PlaceInteractionBackward(int64_t n, Placing at) {
  const auto vectors = at.Activations(kVectors * kDimension, n, 1);
  const auto gradient = at.Activations(kInteractionRows, n, 1);
  const auto result = at.Result(at.Activations(kVectors * kDimension, n));
  at.Do([=] {
    at.kernels().interaction_backward(at.stream(), vectors, kDimension, kernels::Pairs::kDistinct,
                                      gradient, result);
  });
}

void PlaceLoss(int64_t n, Placing at) {
  const auto logits = at.Matrix(1, n, n, 1), labels = at.Matrix(1, n, n);
  const auto gradients = at.Result(at.Matrix(1, n, n));
  const auto sum = at.Put(std::vector<double>(1));
  at.Do([=] {
    at.kernels().loss(at.stream(), {}, {logits.data, n}, {labels.data, n}, n, {gradients.data, n},
                      sum);
  });
}

// Of parameters and gradients.
void PlaceNote(int64_t /*n*/, Placing at) {
  constexpr int64_t kCount = DenseElements();
  const auto values = at.Matrix(2, kCount, kCount, 1);
  const auto sum = at.Put(std::vector<double>(1));
  for (const int64_t row : {0, 1}) {
    at.Do([=] { at.kernels().note_not_finite(at.stream(), {values.row(row), kCount}, sum); });
  }
}

// The same kernel of all layers, as one.
void AddTo(std::vector<CardKernel>* sums, const CardKernel& kernel) {
  auto sum = std::ranges::find(*sums, kernel.name, &CardKernel::name);
  if (sum == sums->end()) {
    sums->push_back(kernel);
    return;
  }
  sum->bytes += kernel.bytes;
  sum->operations += kernel.operations;
  sum->place = [before = sum->place, more = kernel.place](
                   const Compute& compute, device::Stream& stream, PlacedKernel* placed) {
    before(compute, stream, placed);
    more(compute, stream, placed);
  };
}

}  // namespace

std::vector<CardKernel> StepKernels(int64_t batch) {
  const auto n = static_cast<double>(batch);
  constexpr double kRowFloats = kTables * kDimension;
  constexpr double kBlock = kVectors * kDimension + kInteractionRows;
  constexpr double kSums = static_cast<double>(kVectors) * kVectors * kDimension;
  const auto named = [batch](const char* name, double bytes, double operations,
                             void (*place)(int64_t, Placing)) {
    return Named(name, bytes, operations, [=](const Placing& at) { place(batch, at); });
  };
  std::vector<CardKernel> kernels = {
      named("transpose", 8 * n * kDenseFeatures, 0, PlaceTranspose),
      named("pool_tables", 8 * n * kRowFloats + 4 * n * kTables, 0, PlacePool),
      named("interaction_forward", 4 * n * kBlock, n * kSums, PlaceInteraction),
      named("loss", 12 * n, 60 * n, PlaceLoss),
      named("note_not_finite", 8.0 * DenseElements(), 0, PlaceNote),
      named("interaction_backward", 8 * n * kBlock, 2 * n * kSums, PlaceInteractionBackward),
      named("scatter_tables", 12 * n * kRowFloats + 4 * n * kTables, 0, PlaceScatter)};
  for (const GemmShape& layer : kDlrmLayers) {
    for (const CardKernel& kernel : LayerKernels(layer, batch)) AddTo(&kernels, kernel);
  }
  return kernels;
}

}  // namespace weir::bench
