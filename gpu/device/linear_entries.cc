#include "common/base/check.h"
#include "gpu/device/entries.h"
#include "gpu/device/library_products.h"
#include "gpu/kernels/activations.h"
#include "gpu/kernels/row_sums.h"

namespace weir::gpu::entries {
namespace {

// For a layer of so many outputs.
constexpr Factors FactorsOf(Factors factors, int64_t outputs) {
  const bool is_thin = factors == Factors::kBf16 && outputs < kernels::kThinOutputs;
  return is_thin ? Factors::kF32 : factors;
}

// False: it is for tiles to do.
bool MultiplyByLibrary(Stream& stream, const char* name, Factors factors, const Product& product) {
  auto& own = static_cast<CudaStream&>(stream);
  return own.products().Multiply(own, name, factors, product);
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
  const bool is_multiplied =
      MultiplyByLibrary(stream, "linear_forward", factors,
                        {Factor{Raw(weight), false}, Factor{Raw(x), true}, Raw(y)});
  Do(stream, "linear_forward", [&](cudaStream_t to) {
    if (is_multiplied) return AddBias(bias.data.address(), activation, Raw(y), to);
    return gpu::LinearForward(factors, Raw(x), Raw(weight), bias.data.address(), activation, Raw(y),
                              to);
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
  const bool is_multiplied =
      MultiplyByLibrary(stream, "linear_backward_data", factors,
                        {Factor{Raw(weight), true}, Factor{Raw(dy), true}, Raw(dx)});
  if (is_multiplied && relu_output.data == nullptr) return;
  Do(stream, "linear_backward_data", [&](cudaStream_t to) {
    if (is_multiplied) return gpu::ReluBackward(Raw(relu_output), Raw(dx), to);
    return gpu::LinearBackwardData(factors, Raw(dy), Raw(weight), Raw(relu_output), Raw(dx), to);
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
  float* const sums = bias_gradient.data.address();
  const Product product{Factor{Raw(dy), false}, Factor{Raw(x), false}, Raw(dw), accumulate, sums};
  const char* const name = "linear_backward_weight";
  if (dw.column_count > 0 && MultiplyByLibrary(stream, name, factors, product)) return;
  Do(stream, name, [&](cudaStream_t to) { return BiasBackward(Raw(dy), accumulate, sums, to); });
  if (dw.column_count == 0) return;
  Do(stream, name, [&](cudaStream_t to) {
    return gpu::LinearBackwardWeight(factors, Raw(dy), Raw(x), accumulate, Raw(dw), to);
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
    return gpu::LinearBackwardSquares(factors, Raw(dy), Raw(x), keep, Raw(sums), to);
  });
}

void BiasBackwardSquares(Stream& stream, const ConstDeviceMatrix& dy, float keep,
                         const DeviceVector& sums) {
  CHECK_EQ(sums.count, dy.row_count);
  if (dy.row_count == 0) return;
  Do(stream, "bias_backward_squares", [&](cudaStream_t to) {
    return gpu::BiasBackwardSquares(Raw(dy), keep, sums.data.address(), to);
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
