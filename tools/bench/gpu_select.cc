// The card's copies, and selection of one large layer beside them and beside torch.topk.

#include <optional>
#include <string>

#include "common/base/strings.h"
#include "tools/bench/card_selection.h"
#include "tools/bench/gpu_peer.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr int64_t kMega = 1 << 20;
constexpr int64_t kElements = 64 * kMega, kQuickElements = 20'001;
constexpr double kBytesPerElement = 12;  // gradient and residual read, residual written
constexpr double kOfItsBytes = 1 / 1.25, kOfTopK = 3;

// What the lines have in common.
struct Measured {
  const Card& card;
  const Options& options;
  int64_t elements;
  double copy_bandwidth;
  GpuPeer pytorch;
  Lines lines = {};
};

Status MeasureThreshold(int percent, Measured* run) {
  CardSelection layer(run->card, run->elements, 1 - percent / 100.0);
  WEIR_RETURN_IF_ERROR(layer.CheckStep());
  WEIR_ASSIGN_OR_RETURN(const double seconds,
                        CardSeconds(layer.stream(), run->options, [&] { layer.Step(); }));
  WEIR_RETURN_IF_ERROR(layer.CheckStep());
  const double bytes = kBytesPerElement * static_cast<double>(run->elements);
  const Line line = {.name = StrCat("gpu/select/", percent),
                     .value = seconds * 1e3,
                     .unit = "ms",
                     .peer = "its bytes at the speed of a copy",
                     .peer_value = bytes / run->copy_bandwidth * 1e3,
                     .goal = kOfItsBytes,
                     .better = Better::kLess};
  run->lines.push_back(line);
  run->lines.push_back(run->pytorch.Beside(StrCat("compare_", percent), 1e3, line));
  return OkStatus();
}

Status MeasureTop(Measured* run) {
  const auto rank = static_cast<uint32_t>(run->elements / 100);
  CardSelection layer(run->card, run->elements, 0.01);
  WEIR_RETURN_IF_ERROR(layer.CheckTopStep(rank));
  Status failure;
  WEIR_ASSIGN_OR_RETURN(const double seconds, CardSeconds(layer.stream(), run->options, [&] {
                          failure = Joined(failure, layer.TopStep(rank));
                        }));
  WEIR_RETURN_IF_ERROR(failure);
  WEIR_RETURN_IF_ERROR(layer.CheckTopStep(rank));
  const Line line = {
      .name = "gpu/select/top_k", .value = seconds * 1e3, .unit = "ms", .better = Better::kLess};
  run->lines.push_back(run->pytorch.Beside("topk", 1e3, line));
  run->lines.back().goal = kOfTopK;
  run->lines.push_back(run->pytorch.Beside("topk_step", 1e3, line));
  return OkStatus();
}

}  // namespace

Result<Lines> BenchGpuSelect(const Options& options) {
  const int64_t elements = options.quick ? kQuickElements : kElements;
  WEIR_ASSIGN_OR_RETURN(GpuPeer pytorch,
                        GpuPeer::Run(options, {"select", StrCat("--elements=", elements)}));
  WEIR_ASSIGN_OR_RETURN(const Card card, OpenCardOf(options, kernels::Precision::kF32, 1));
  WEIR_ASSIGN_OR_RETURN(const double bandwidth, CopyBandwidth(card, options));
  Measured run = {card, options, elements, bandwidth, std::move(pytorch)};
  run.lines.push_back(run.pytorch.Beside(
      "copy", 1e-9, {.name = "gpu/select", .value = bandwidth / 1e9, .unit = "GB/s"}));
  for (const int percent : {99, 95}) WEIR_RETURN_IF_ERROR(MeasureThreshold(percent, &run));
  WEIR_RETURN_IF_ERROR(MeasureTop(&run));
  return run.lines;
}

}  // namespace weir::bench
