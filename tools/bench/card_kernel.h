// Kernels of a training step on a card, each alone, with what it has to move and to compute
// (docs/internals/gpu_floors.md) and the same operation on the CPU to verify it.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "tools/bench/card.h"
#include "tools/bench/dlrm_shape.h"

namespace weir::bench {

// Operands on one device, and what is done with them.
struct PlacedKernel {
  std::vector<std::shared_ptr<void>> memory;
  std::vector<std::function<void()>> calls;
  std::vector<kernels::ConstDeviceMatrix> results;

  void Enqueue() const {
    for (const auto& call : calls) call();
  }
};

struct CardKernel {
  std::string name;
  double bytes = 0, operations = 0;
  std::function<void(const kernels::Compute&, device::Stream&, PlacedKernel*)> place;

  // Below which it cannot be on an H100-class card.
  double FloorSeconds() const;
};

// linear_forward, linear_backward_data (but of a first layer) and linear_backward_weight.
std::vector<CardKernel> LayerKernels(const GemmShape& layer, int64_t batch);
// All of a step of the paper's model but the selection.
std::vector<CardKernel> StepKernels(int64_t batch);
// What is beside a step in a run without servers: rows that are read, rules that are applied.
std::vector<CardKernel> UpdateKernels(int64_t batch);
// The matrix products of linear_forward and linear_backward_weight, without bias, ReLU and bias's
// gradient.
std::vector<CardKernel> BareProducts(const GemmShape& layer, int64_t batch);

// Seconds on the card. Internal where its results are not the CPU's, as near as the precision
// allows.
Result<double> MeasureKernel(const CardKernel& kernel, const Card& card,
                             kernels::Precision precision, const Options& options);

}  // namespace weir::bench
