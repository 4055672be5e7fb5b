// The layers of one stage, between two splits, or all of them: of the bottom MLP, of the top one,
// and what is between, as much as the stage has.
//
// It holds the activations of one slice of a batch, no parameters: weights are read from the
// replica's flat buffer at TensorSpec::offset, and gradients go to a flat buffer of the same shape.
// Who runs a stage puts what it is given into input, or, for the first stage, nothing: that one
// reads the batch. Of a batch each stage uses what its layers need: dense features the first one,
// ids the one with the interaction, labels whoever computes the loss from the last one's output.
//
// Place in the life of a batch: forward and backward of a stage, below Dlrm.
// Thread rule: thread-compatible; one per slice under way of a Hogwild thread. The replica may be
// written meanwhile (common/base/hogwild.h). Borrows layout, device and kernels, which outlive it.
// No allocation after construction. Move-only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "worker/model/device_batch.h"
#include "worker/model/gradient_listener.h"
#include "worker/model/interaction.h"
#include "worker/model/mlp.h"
#include "worker/model/slice.h"

namespace weir::model {

// Seconds in the passes of a batch; where a device computes, those of telling it what to.
struct PassTimes {
  double forward = 0;   // with the loss
  double backward = 0;  // with what a listener does
};

// Where a step's gradients go, and who hears when they are whole.
struct GradientBuffers {
  device::Pointer<float> dense;          // flat
  device::Span<float> rows;              // shaped like the batch's rows
  device::Span<float> row_squares;       // one for each of the batch's rows, or none
  GradientListener* listener = nullptr;  // or null: nobody
  PassTimes* times = nullptr;            // where Dlrm adds its own; or null
};

class Stage {
 public:
  // squares: where Backward adds them up (Mlp); empty: nowhere.
  Stage(const ModelLayout& layout, const StageSpec& spec, const kernels::Compute& compute,
        int64_t max_samples, const compress::SquareSumsOfTensors& squares);

  const StageSpec& spec() const { return spec_; }

  // [input_width, samples]: what the stage before gave, and its gradient after Backward. Not of the
  // first stage.
  kernels::DeviceMatrix input(const Slice& slice);
  kernels::DeviceMatrix input_gradient(const Slice& slice);

  // [output_width, samples]: what Forward gives, and the gradient that Backward takes and
  // overwrites.
  kernels::DeviceMatrix output(const Slice& slice) {
    return SliceOf(output_, spec_.output_width, slice);
  }
  kernels::DeviceMatrix output_gradient(const Slice& slice) {
    return SliceOf(output_gradient_, spec_.output_width, slice);
  }

  // rows: the unique rows of the batch, table after table; only read by the interaction.
  void Forward(device::Stream& stream, device::Pointer<const float> parameters,
               const DeviceBatch& batch, const Slice& slice, device::Span<const float> rows);

  // After Forward of the same slice. The first slice of a batch overwrites this stage's tensors in
  // gradients.dense, the others add; all add to rows, row_squares and the sums of squares. The last
  // one tells gradients.listener.
  void Backward(device::Stream& stream, device::Pointer<const float> parameters,
                const DeviceBatch& batch, const Slice& slice, const GradientBuffers& gradients);
  // As Backward does, of all at once.
  void TellWhole(device::Stream& stream, GradientListener* listener) const;

  // For the failure path: the first place in this stage, in the order of forward, that is not
  // finite after Forward; empty when all are.
  std::string FirstNonFinite(device::Stream& stream, device::Pointer<const float> parameters,
                             const DeviceBatch& batch, const Slice& slice,
                             device::Span<const float> rows);

 private:
  kernels::ConstDeviceMatrix DenseRows(const DeviceBatch& batch, const Slice& slice) const {
    return batch.Dense(slice, layout_->dense_feature_count());
  }
  kernels::DeviceMatrix BottomOutput(const Slice& slice);
  kernels::DeviceMatrix BottomGradient(const Slice& slice);
  kernels::DeviceMatrix TopInput(const Slice& slice);
  kernels::DeviceMatrix TopInputGradient(const Slice& slice);
  std::string FirstNonFiniteTable(device::Stream& stream, const data::Batch& batch,
                                  device::Span<const float> rows) const;

  const ModelLayout* layout_;
  const kernels::DeviceKernels* kernels_;
  StageSpec spec_;
  bool is_first_;
  std::optional<Mlp> bottom_, top_;
  std::optional<Interaction> interaction_;
  // The dense features of the first stage, or what the stage before gave where that is not the
  // interaction's: [input width, samples].
  device::Buffer<float> input_;
  device::Buffer<float> input_gradient_;  // the same shape; not of the first stage
  device::Buffer<float> output_;          // [output width, samples]
  device::Buffer<float> output_gradient_;
};

// Tells a listener, if there is one, of all gradients of these stages at once, the last one first.
void TellWhole(std::span<const Stage> stages, device::Stream& stream, GradientListener* listener);

}  // namespace weir::model
