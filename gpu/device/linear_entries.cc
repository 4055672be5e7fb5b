#include "common/base/check.h"
#include "gpu/device/entries.h"
#include "gpu/device/library_products.h"
#include "gpu/kernels/activations.h"
#include "gpu/kernels/row_sums.h"
#include "gpu/kernels/turned.h"

namespace weir::gpu::entries {
namespace {

// For a layer of so many outputs.
constexpr Factors FactorsOf(Factors factors, int64_t outputs) {
  const bool is_thin = factors == Factors::kBf16 && outputs < kernels::kThinOutputs;
  return is_thin ? Factors::kF32 : factors;
}

Factor RowsOf(const ConstDeviceMatrix& view) { return {MemoryOf(view), view.is_turned}; }
Factor ColumnsOf(const ConstDeviceMatrix& view) { return {MemoryOf(view), !view.is_turned}; }

// Of a turned matrix's memory.
template <typename Float>
int64_t SignsStrideOf(const RawMatrix<Float>& turned) {
  return kernels::SignsStride(turned.column_count);
}

Done MultiplyByLibrary(Stream& stream, const char* name, Factors factors, const Product& product) {
  auto& own = static_cast<CudaStream&>(stream);
  return own.products().Multiply(own, name, factors, product);
}

// A product whose result lies turned: by the library, with its ending or without, or by tiles.
// end(stream): what is then left.
template <typename End>
void MultiplyTurned(Stream& stream, const char* name, Factors factors, const Product& product,
                    const End& end) {
  const Done done = MultiplyByLibrary(stream, name, factors, product);
  if (done == Done::kNothing) {
    Do(stream, name, [&](cudaStream_t to) {
      return gpu::Multiply(factors, product.right, product.left, 0.0f, product.to, to);
    });
  }
  const bool has_ended = done == Done::kAll || product.ending.kind == Ending::Kind::kNone;
  if (!has_ended) Do(stream, name, end);
}

void ForwardTurned(Stream& stream, Factors factors, const Factor& weight, const Factor& x,
                   const float* bias, kernels::Activation activation, const DeviceMatrix& y) {
  const RawMatrix<float> to = MemoryOf(y);
  const bool is_relu = activation == kernels::Activation::kRelu;
  const Ending ending =
      is_relu ? Ending{Ending::Kind::kBiasAndRelu, bias, SignsOf(to), SignsStrideOf(to)}
              : Ending{.kind = Ending::Kind::kBias, .vector = bias};
  const Product product{.left = weight, .right = x, .to = to, .is_turned = true, .ending = ending};
  MultiplyTurned(stream, "linear_forward", factors, product,
                 [&](cudaStream_t in) { return AddBiasTurned(bias, activation, to, in); });
}

void BackwardDataTurned(Stream& stream, Factors factors, const Factor& weight, const Factor& dy,
                        const ConstDeviceMatrix& relu_output, const DeviceMatrix& dx) {
  const RawMatrix<float> to = MemoryOf(dx);
  Product product{.left = weight, .right = dy, .to = to, .is_turned = true};
  if (relu_output.data == nullptr) {
    return MultiplyTurned(stream, "linear_backward_data", factors, product,
                          [](cudaStream_t) { return cudaSuccess; });
  }
  CHECK(relu_output.is_turned);
  const RawMatrix<const float> output = MemoryOf(relu_output);
  product.ending = {.kind = Ending::Kind::kReluBackward,
                    .signs = SignsOf(output),
                    .signs_stride = SignsStrideOf(output)};
  MultiplyTurned(stream, "linear_backward_data", factors, product,
                 [&](cudaStream_t in) { return gpu::ReluBackward(output, to, in); });
}

}  // namespace

template <Factors precision>
void LinearForward(Stream& stream, const ConstDeviceMatrix& x, const ConstDeviceMatrix& weight,
                   const ConstDeviceVector& bias, kernels::Activation activation,
                   const DeviceMatrix& y) {
  CHECK_EQ(x.row_count, weight.column_count);
  CHECK_EQ(y.row_count, weight.row_count);
  CHECK_EQ(y.column_count, x.column_count);
  CHECK_EQ(bias.count, y.row_count);
  if (IsEmpty(y)) return;
  const Factors factors = FactorsOf(precision, weight.row_count);
  const Factor left = RowsOf(weight), right = ColumnsOf(x);
  const float* const biases = bias.data.address();
  if (y.is_turned) return ForwardTurned(stream, factors, left, right, biases, activation, y);
  const Product product{.left = left, .right = right, .to = Raw(y)};
  const bool is_multiplied =
      MultiplyByLibrary(stream, "linear_forward", factors, product) == Done::kAll;
  Do(stream, "linear_forward", [&](cudaStream_t to) {
    if (is_multiplied) return AddBias(biases, activation, Raw(y), to);
    return gpu::LinearForward(factors, left, right, biases, activation, Raw(y), to);
  });
}

template <Factors precision>
void LinearBackwardData(Stream& stream, const ConstDeviceMatrix& dy,
                        const ConstDeviceMatrix& weight, const ConstDeviceMatrix& relu_output,
                        const DeviceMatrix& dx) {
  CHECK_EQ(dy.row_count, weight.row_count);
  CHECK_EQ(dx.row_count, weight.column_count);
  CHECK_EQ(dx.column_count, dy.column_count);
  if (IsEmpty(dx)) return;
  const Factors factors = FactorsOf(precision, weight.row_count);
  const Factor left = ColumnsOf(weight), right = ColumnsOf(dy);
  if (dx.is_turned) return BackwardDataTurned(stream, factors, left, right, relu_output, dx);
  const Product product{.left = left, .right = right, .to = Raw(dx)};
  const bool is_multiplied =
      MultiplyByLibrary(stream, "linear_backward_data", factors, product) == Done::kAll;
  if (is_multiplied && relu_output.data == nullptr) return;
  Do(stream, "linear_backward_data", [&](cudaStream_t to) {
    if (is_multiplied) return gpu::ReluBackward(Raw(relu_output), Raw(dx), to);
    return gpu::LinearBackwardData(factors, left, right, Raw(relu_output), Raw(dx), to);
  });
}

template <Factors precision>
void LinearBackwardWeight(Stream& stream, const ConstDeviceMatrix& dy, const ConstDeviceMatrix& x,
                          bool accumulate, const DeviceMatrix& dw,
                          const DeviceVector& bias_gradient) {
  CHECK_EQ(dw.row_count, dy.row_count);
  CHECK_EQ(dw.column_count, x.row_count);
  CHECK_EQ(dy.column_count, x.column_count);
  CHECK_EQ(bias_gradient.count, dy.row_count);
  if (dy.row_count == 0) return;
  const Factors factors = FactorsOf(precision, dw.row_count);
  const Factor left = RowsOf(dy), right = RowsOf(x);
  float* const sums = bias_gradient.data.address();
  const Product product{
      .left = left, .right = right, .to = Raw(dw), .adds = accumulate, .left_sums = sums};
  const char* const name = "linear_backward_weight";
  if (dw.column_count > 0 && MultiplyByLibrary(stream, name, factors, product) == Done::kAll) {
    return;
  }
  Do(stream, name, [&](cudaStream_t to) { return BiasBackward(left, accumulate, sums, to); });
  if (dw.column_count == 0) return;
  Do(stream, name, [&](cudaStream_t to) {
    return gpu::Multiply(factors, left, right, accumulate ? 1.0f : 0.0f, Raw(dw), to);
  });
}

template <Factors precision>
void LinearBackwardSquares(Stream& stream, const ConstDeviceMatrix& dy, const ConstDeviceMatrix& x,
                           float keep, const DeviceMatrix& sums) {
  CHECK_EQ(sums.row_count, dy.row_count);
  CHECK_EQ(sums.column_count, x.row_count);
  CHECK_EQ(dy.column_count, x.column_count);
  if (IsEmpty(sums)) return;
  const Factors factors = FactorsOf(precision, sums.row_count);
  Do(stream, "linear_backward_squares", [&](cudaStream_t to) {
    return MultiplySquares(factors, RowsOf(dy), RowsOf(x), keep, Raw(sums), to);
  });
}

void BiasBackwardSquares(Stream& stream, const ConstDeviceMatrix& dy, float keep,
                         const DeviceVector& sums) {
  CHECK_EQ(sums.count, dy.row_count);
  if (dy.row_count == 0) return;
  Do(stream, "bias_backward_squares", [&](cudaStream_t to) {
    return gpu::BiasBackwardSquares(RowsOf(dy), keep, sums.data.address(), to);
  });
}

#define WEIR_FOR(factors)                                                                          \
  template void LinearForward<factors>(Stream&, const ConstDeviceMatrix&,                          \
                                       const ConstDeviceMatrix&, const ConstDeviceVector&,         \
                                       kernels::Activation, const DeviceMatrix&);                  \
  template void LinearBackwardData<factors>(Stream&, const ConstDeviceMatrix&,                     \
                                            const ConstDeviceMatrix&, const ConstDeviceMatrix&,    \
                                            const DeviceMatrix&);                                  \
  template void LinearBackwardWeight<factors>(Stream&, const ConstDeviceMatrix&,                   \
                                              const ConstDeviceMatrix&, bool, const DeviceMatrix&, \
                                              const DeviceVector&);                                \
  template void LinearBackwardSquares<factors>(                                                    \
      Stream&, const ConstDeviceMatrix&, const ConstDeviceMatrix&, float, const DeviceMatrix&);

WEIR_FOR(Factors::kF32)
WEIR_FOR(Factors::kBf16)
WEIR_FOR(Factors::kTf32)

#undef WEIR_FOR

}  // namespace weir::gpu::entries
