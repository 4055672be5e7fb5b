#include "tools/bench/gemm_layers.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "common/base/strings.h"
#include "common/kernels/cpu_kernels.h"
#include "worker/model/dlrm.h"

namespace weir::bench {
namespace {

using kernels::Dense;

// Of each result.
constexpr int kVerifiedElements = 500;

// |a - b| / |b|.
double Distance(const tensor::AlignedBuffer& a, const tensor::AlignedBuffer& b) {
  double difference = 0, scale = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double{a[i]} - b[i], 2);
    scale += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / scale);
}

// A feature of a sample, in the slices of a buffer.
class Activations {
 public:
  Activations(const GemmLayer& layer, const tensor::AlignedBuffer& values, int64_t features)
      : layer_(layer), values_(values), features_(features) {}

  double At(int64_t feature, int64_t sample) const {
    const int64_t slice = sample / model::kSplitRows;
    const int64_t column = sample % model::kSplitRows;
    return values_[static_cast<size_t>((slice * features_ + feature) * layer_.stride + column)];
  }

 private:
  const GemmLayer& layer_;
  const tensor::AlignedBuffer& values_;
  const int64_t features_;
};

// A sum of `count` products in 64 bits, and how large its terms are.
struct PlainSum {
  template <typename Term>
  PlainSum(int64_t count, const Term& term) {
    for (int64_t i = 0; i < count; ++i) {
      value += term(i);
      magnitude += std::fabs(term(i));
    }
  }

  double value = 0, magnitude = 0;
};

Status Check(const GemmLayer& layer, const char* what, double found, const PlainSum& expected) {
  if (std::fabs(found - expected.value) <= 1e-5 * expected.magnitude) return OkStatus();
  return Internal(StrCat("an element of ", what, " of ", layer.inputs, " x ", layer.outputs, " is ",
                         found, ", not ", expected.value));
}

}  // namespace

GemmLayer::GemmLayer(const GemmShape& shape, int64_t batch_in)
    : inputs(shape.inputs),
      outputs(shape.outputs),
      batch(batch_in),
      first(shape.first),
      stride(kernels::PaddedStride(std::min(batch, model::kSplitRows))),
      slices((batch + model::kSplitRows - 1) / model::kSplitRows),
      x(static_cast<size_t>(slices * inputs * stride)),
      w(static_cast<size_t>(inputs * outputs)),
      y(static_cast<size_t>(slices * outputs * stride)),
      bias(static_cast<size_t>(outputs)),
      bias_gradient(bias.size()),
      dx(x.size()),
      dw(w.size()) {
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (tensor::AlignedBuffer* buffer : {&x, &w, &y, &bias}) {
    for (float& value : buffer->span()) value = uniform(random);
  }
}

std::vector<GemmLayer> GemmLayers(int64_t batch) {
  std::vector<GemmLayer> layers;
  layers.reserve(kDlrmLayers.size());
  for (const GemmShape& shape : kDlrmLayers) layers.emplace_back(shape, batch);
  return layers;
}

double TotalFlop(const std::vector<GemmLayer>& layers) {
  double flop = 0;
  for (const GemmLayer& o : layers) flop += o.flop();
  return flop;
}

void RunByTable(const kernels::KernelTable& table, GemmLayer* layer) {
  GemmLayer& o = *layer;
  const auto weight = Dense(o.w.data(), o.outputs, o.inputs);
  for (int64_t slice = 0; slice < o.slices; ++slice) {
    const int64_t rows = std::min(model::kSplitRows, o.batch - slice * model::kSplitRows);
    const auto view = [&](tensor::AlignedBuffer& values, int64_t features) {
      return kernels::MatrixView{values.data() + slice * features * o.stride, features, rows,
                                 o.stride};
    };
    const auto x = view(o.x, o.inputs), y = view(o.y, o.outputs);
    table.linear_forward(x, weight, {o.bias.data(), o.outputs}, kernels::Activation::kRelu, y);
    table.linear_backward_weight(y, x, slice > 0, Dense(o.dw.data(), o.outputs, o.inputs),
                                 {o.bias_gradient.data(), o.outputs});
    if (!o.first) table.linear_backward_data(y, weight, x, view(o.dx, o.inputs));
  }
}

Status VerifyByPlainSums(const GemmLayer& layer) {
  const Activations x(layer, layer.x, layer.inputs), y(layer, layer.y, layer.outputs),
      dx(layer, layer.dx, layer.inputs);
  const auto weight = [&](const tensor::AlignedBuffer& w, int64_t output, int64_t input) -> double {
    return w[static_cast<size_t>(output * layer.inputs + input)];
  };
  std::minstd_rand random(2);
  const auto below = [&](int64_t count) {
    return std::uniform_int_distribution<int64_t>(0, count - 1)(random);
  };
  for (int i = 0; i < kVerifiedElements; ++i) {
    const int64_t in = below(layer.inputs), out = below(layer.outputs), s = below(layer.batch);
    PlainSum after_relu(layer.inputs,
                        [&](int64_t k) { return weight(layer.w, out, k) * x.At(k, s); });
    after_relu.value = std::max(after_relu.value + layer.bias[static_cast<size_t>(out)], 0.0);
    WEIR_RETURN_IF_ERROR(Check(layer, "y", y.At(out, s), after_relu));
    const PlainSum dw(layer.batch, [&](int64_t k) { return y.At(out, k) * x.At(in, k); });
    WEIR_RETURN_IF_ERROR(Check(layer, "dw", weight(layer.dw, out, in), dw));
    const PlainSum db(layer.batch, [&](int64_t k) { return y.At(out, k); });
    WEIR_RETURN_IF_ERROR(
        Check(layer, "the bias's gradient", layer.bias_gradient[static_cast<size_t>(out)], db));
    if (layer.first) continue;
    PlainSum input_gradient(layer.outputs,
                            [&](int64_t k) { return weight(layer.w, k, in) * y.At(k, s); });
    if (x.At(in, s) <= 0) input_gradient.value = 0;  // where a ReLU would have cut
    WEIR_RETURN_IF_ERROR(Check(layer, "dx", dx.At(in, s), input_gradient));
  }
  return OkStatus();
}

// A bfloat16 has 8 bits; the gradients are products of a product.
Status VerifyBf16(const kernels::KernelTable& table, int64_t batch) {
  std::vector<GemmLayer> bf16 = GemmLayers(batch), f32 = GemmLayers(batch);
  for (size_t i = 0; i < f32.size(); ++i) {
    RunByTable(table, &bf16[i]);
    RunByTable(kernels::CpuKernels(), &f32[i]);
    for (const auto result :
         {&GemmLayer::y, &GemmLayer::dx, &GemmLayer::dw, &GemmLayer::bias_gradient}) {
      const double distance = Distance(bf16[i].*result, f32[i].*result);
      if (distance < 0x1p-6) continue;  // not so a NaN
      return Internal(StrCat("the products of ", f32[i].inputs, " x ", f32[i].outputs,
                             " with bfloat16 are off by ", distance, " of those in 32 bits"));
    }
  }
  return OkStatus();
}

}  // namespace weir::bench
