// A stack of linear layers, y = W x + b, each followed by its activation. Its weights are not its
// own: they are read from the flat replica buffer at the offsets that the model layout gives, and
// gradients are written to a flat buffer of the same shape.
//
// Place in the life of a batch: forward and backward, below Dlrm.
// Thread rule: thread-compatible; one per Hogwild thread. The replica may change while it is read
// (common/base/hogwild.h), so forward and backward of one step may see different weights.
// Owns the outputs of all layers but the last, which the caller places; borrows layout, device and
// kernels. Activations are features by samples (common/kernels/kernel_table.h); its own lie turned
// where the device asks for that. Allocates at construction only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/compress/square_sums.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "worker/model/gradient_listener.h"
#include "worker/model/slice.h"

namespace weir::model {

// After each layer.
using Activations = std::span<const v1::ModelConfig::Activation>;

class Mlp {
 public:
  // weights: indexes of the layers' weights in layout.tensors(), at least one; each bias follows
  // its weight. max_samples: the largest slice. squares: of the layout's tensors, by index, where
  // Backward adds squares up; empty: of none.
  Mlp(const ModelLayout& layout, std::span<const uint32_t> weights, Activations activations,
      const kernels::Compute& compute, int64_t max_samples,
      const compress::SquareSumsOfTensors& squares);

  // input: [input width, samples], the slice's; output: [output width, samples].
  void Forward(device::Stream& stream, device::Pointer<const float> parameters, const Slice& slice,
               const kernels::ConstDeviceMatrix& input, const kernels::DeviceMatrix& output);

  // After Forward of the same slice, with the same input and its output. output_gradient becomes
  // the last layer's. input_gradient: [input width, samples], or without data when nobody needs it.
  // Every element of this MLP's tensors in gradients is overwritten, or, with accumulate, added to.
  // The squares of what each sample adds are added to the sums of the tensors that have any;
  // without accumulate these decay first. For a weight that is one more product of matrices.
  // listener: hears of each layer, or null.
  void Backward(device::Stream& stream, device::Pointer<const float> parameters, const Slice& slice,
                const kernels::ConstDeviceMatrix& input, const kernels::ConstDeviceMatrix& output,
                const kernels::DeviceMatrix& output_gradient,
                const kernels::DeviceMatrix& input_gradient, bool accumulate,
                device::Pointer<float> gradients, GradientListener* listener);
  // As Backward does, of all layers at once.
  void TellWhole(device::Stream& stream, GradientListener* listener) const;

  // For the failure path: the first tensor ("bottom/0/weight") or layer output ("the output of
  // bottom/0") that is not finite after Forward gave output; empty when all are.
  std::string FirstNonFinite(device::Stream& stream, device::Pointer<const float> parameters,
                             const Slice& slice, const kernels::ConstDeviceMatrix& output) const;

 private:
  struct Layer {
    uint32_t first_tensor;  // its weight, by index; the bias follows
    const TensorSpec* weight;
    const TensorSpec* bias;
    int activation;
    compress::SquareSums weight_squares, bias_squares;
    device::Buffer<float> output;           // empty for the last layer
    device::Buffer<float> output_gradient;  // the same shape
  };

  static void Tell(device::Stream& stream, const Layer& layer, GradientListener* listener) {
    listener->OnTensors(stream, layer.first_tensor, layer.first_tensor + 2);
  }
  void BackwardWeight(device::Stream& stream, const Layer& layer,
                      const kernels::ConstDeviceMatrix& output_gradient,
                      const kernels::ConstDeviceMatrix& input, bool accumulate,
                      device::Pointer<float> gradients) const;
  // The gradient of what the layer's activation took, from that of what it gave.
  void BackwardActivation(device::Stream& stream, const Layer& layer,
                          const kernels::ConstDeviceMatrix& output,
                          const kernels::DeviceMatrix& gradient) const;
  kernels::DeviceMatrix HiddenGradient(size_t layer, const Slice& slice);
  kernels::DeviceMatrix HiddenOutput(size_t layer, const Slice& slice) const;

  const kernels::DeviceKernels* kernels_;
  bool turns_hidden_;
  std::vector<Layer> layers_;
};

}  // namespace weir::model
