// Each kernel of a step on a card, alone, beside what no card of its class can be faster than; and
// the products of each layer beside PyTorch's.

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "tools/bench/card_kernel.h"
#include "tools/bench/card_looks.h"
#include "tools/bench/card_selection.h"
#include "tools/bench/gpu_peer.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr int64_t kBatch = 16'384, kQuickBatch = 8;
constexpr double kSelectedBytes = 12.06;  // an element: 1 % of them are written as 6 bytes

struct PrecisionName {
  kernels::Precision precision;
  const char* name;
};
constexpr PrecisionName kPrecisions[] = {{kernels::Precision::kF32, "f32"},
                                         {kernels::Precision::kBf16, "bf16"}};

Line FloorLine(const std::string& name, double seconds, double floor_seconds) {
  return {.name = name,
          .value = seconds * 1e6,
          .unit = "us",
          .peer = "its floor at 3.0 TB/s and 700 TFLOP/s",
          .peer_value = floor_seconds * 1e6,
          .better = Better::kLess};
}

// Of all layers as one.
Status MeasureSelection(const Card& card, const Options& options, Lines* lines) {
  const auto add = [&](const char* name, double element_bytes, device::Stream& stream,
                       const std::function<void()>& enqueue) -> Status {
    WEIR_ASSIGN_OR_RETURN(const double seconds, CardSeconds(stream, options, enqueue));
    const CardKernel kernel = {name, element_bytes * static_cast<double>(DenseElements()), 0, {}};
    lines->push_back(FloorLine(StrCat("gpu/kernels/", name), seconds, kernel.FloorSeconds()));
    return OkStatus();
  };
  CardSelection layer(card, DenseElements(), 0.01);
  WEIR_RETURN_IF_ERROR(layer.CheckStep());
  WEIR_RETURN_IF_ERROR(
      add("accumulate_and_select", kSelectedBytes, layer.stream(), [&] { layer.Step(); }));
  const CardLooks looks(card, DenseElements());
  WEIR_RETURN_IF_ERROR(looks.CheckLargest());
  WEIR_RETURN_IF_ERROR(add("find_largest", 12, looks.stream(), [&] { looks.FindLargest(); }));
  WEIR_RETURN_IF_ERROR(looks.CheckBuckets());
  WEIR_RETURN_IF_ERROR(add("sum_buckets", 8, looks.stream(), [&] { looks.SumBuckets(); }));
  WEIR_RETURN_IF_ERROR(looks.CheckAgreed());
  return add("take_values", 0.72, looks.stream(), [&] { looks.TakeAgreed(); });
}

// Layers of another's shape are measured once.
std::vector<GemmShape> DistinctLayers(const Options& options) {
  std::vector<GemmShape> distinct;
  for (const GemmShape& layer : kDlrmLayers) {
    const auto same = [&](const GemmShape& other) {
      return other.inputs == layer.inputs && other.outputs == layer.outputs;
    };
    if (std::ranges::none_of(distinct, same)) distinct.push_back(layer);
  }
  if (options.quick) distinct.resize(1);
  return distinct;
}

// Of a bare product PyTorch's is that of the kernel.
std::string NameWithPeer(const std::string& kernel) {
  constexpr std::string_view kBare = "bare_";
  return kernel.starts_with(kBare) ? StrCat("linear_", kernel.substr(kBare.size())) : kernel;
}

Status MeasureLayer(const GemmShape& layer, const PrecisionName& precision, const Card& card,
                    const GpuPeer& pytorch, const Options& options, Lines* lines) {
  const int64_t batch = options.quick ? kQuickBatch : kBatch;
  std::vector<CardKernel> kernels = LayerKernels(layer, batch);
  std::ranges::move(BareProducts(layer, batch), std::back_inserter(kernels));
  for (const CardKernel& kernel : kernels) {
    WEIR_ASSIGN_OR_RETURN(const double seconds,
                          MeasureKernel(kernel, card, precision.precision, options));
    const std::string figure = StrCat(NameWithPeer(kernel.name), "_", layer.inputs, "x",
                                      layer.outputs, "_", precision.name);
    const double peer_seconds = pytorch.Value(figure);
    lines->push_back(
        {.name = StrCat("gpu/products/", precision.name, "/", layer.inputs, "x", layer.outputs, "/",
                        kernel.name),
         .value = kernel.operations / seconds / 1e12,
         .unit = "TFLOP/s",
         .peer = pytorch.name(),
         .peer_value = peer_seconds > 0 ? kernel.operations / peer_seconds / 1e12 : 0});
  }
  return OkStatus();
}

}  // namespace

Result<Lines> BenchGpuKernels(const Options& options) {
  const int64_t batch = options.quick ? kQuickBatch : kBatch;
  std::vector<CardKernel> kernels = StepKernels(batch);
  std::ranges::move(UpdateKernels(batch), std::back_inserter(kernels));
  Lines lines;
  for (const auto& [precision, name] : kPrecisions) {
    WEIR_ASSIGN_OR_RETURN(const Card card, OpenCardOf(options, precision, batch));
    for (const CardKernel& kernel : kernels) {
      const bool is_product = kernel.name.starts_with("linear_");
      if (precision == kernels::Precision::kBf16 && !is_product) continue;  // one form for both
      WEIR_ASSIGN_OR_RETURN(const double seconds, MeasureKernel(kernel, card, precision, options));
      lines.push_back(FloorLine(
          StrCat("gpu/kernels/", kernel.name, is_product ? "/" : "", is_product ? name : ""),
          seconds, kernel.FloorSeconds()));
    }
    if (precision == kernels::Precision::kBf16) continue;
    WEIR_RETURN_IF_ERROR(MeasureSelection(card, options, &lines));
  }
  return lines;
}

Result<Lines> BenchGpuProducts(const Options& options) {
  const int64_t batch = options.quick ? kQuickBatch : kBatch;
  std::vector<std::string> arguments = {"products", StrCat("--batch=", batch)};
  for (const GemmShape& layer : DistinctLayers(options)) {
    arguments.push_back(StrCat("--layer=", layer.inputs, "x", layer.outputs));
  }
  WEIR_ASSIGN_OR_RETURN(const GpuPeer pytorch, GpuPeer::Run(options, arguments));
  Lines lines;
  for (const PrecisionName& precision : kPrecisions) {
    WEIR_ASSIGN_OR_RETURN(const Card card, OpenCardOf(options, precision.precision, batch));
    for (const GemmShape& layer : DistinctLayers(options)) {
      WEIR_RETURN_IF_ERROR(MeasureLayer(layer, precision, card, pytorch, options, &lines));
    }
  }
  return lines;
}

}  // namespace weir::bench
