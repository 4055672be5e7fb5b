#include "tools/bench/card_kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/strings.h"
#include "common/device/cpu_device.h"

namespace weir::bench {
namespace {

constexpr double kBytesPerSecond = 3.0e12, kOperationsPerSecond = 700e12;

std::vector<float> Contents(const kernels::ConstDeviceMatrix& matrix, device::Stream& stream) {
  const auto [rows, length] = matrix.is_turned ? std::pair(matrix.column_count, matrix.row_count)
                                               : std::pair(matrix.row_count, matrix.column_count);
  std::vector<float> all(static_cast<size_t>((rows - 1) * matrix.stride + length)), contents;
  stream.CopyToHost<float>({matrix.data, all.size()}, all);
  (void)stream.Synchronize();  // what failed stays the stream's
  for (int64_t r = 0; r < matrix.row_count; ++r) {
    for (int64_t c = 0; c < matrix.column_count; ++c) {
      contents.push_back(all[static_cast<size_t>(matrix.is_turned ? c * matrix.stride + r
                                                                  : r * matrix.stride + c)]);
    }
  }
  return contents;
}

Status CompareResults(const std::string& name, const std::vector<float>& expected,
                      const std::vector<float>& got, double tolerance) {
  double largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(double{value}));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(double{got[i]} - double{expected[i]}) <= tolerance * largest) continue;
    return Internal(StrCat(name, ": element ", i, " is ", got[i], " on the card and ", expected[i],
                           " on the CPU"));
  }
  return OkStatus();
}

// One execution on each.
Status Verify(const CardKernel& kernel, const PlacedKernel& on_card, device::Stream& stream,
              kernels::Precision precision) {
  const kernels::Compute cpu = kernels::CpuCompute(precision);
  PlacedKernel on_cpu;
  kernel.place(cpu, device::CpuStream(), &on_cpu);
  on_cpu.Enqueue();
  on_card.Enqueue();
  // Bfloat16 has 8 bits; what was rounded the other way differs by one of them.
  const double tolerance = precision == kernels::Precision::kBf16 ? 0.02 : 0.001;
  for (size_t i = 0; i < on_cpu.results.size(); ++i) {
    WEIR_RETURN_IF_ERROR(CompareResults(kernel.name,
                                        Contents(on_cpu.results[i], device::CpuStream()),
                                        Contents(on_card.results[i], stream), tolerance));
  }
  return stream.Synchronize();
}

}  // namespace

double CardKernel::FloorSeconds() const {
  return std::max(bytes / kBytesPerSecond, operations / kOperationsPerSecond);
}

Result<double> MeasureKernel(const CardKernel& kernel, const Card& card,
                             kernels::Precision precision, const Options& options) {
  const auto stream = card.device->MakeStream();
  PlacedKernel placed;
  kernel.place(card.compute, *stream, &placed);
  WEIR_RETURN_IF_ERROR(Verify(kernel, placed, *stream, precision));
  return CardSeconds(*stream, options, [&placed] { placed.Enqueue(); });
}

}  // namespace weir::bench
