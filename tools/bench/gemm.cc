// The GEMMs of one training step (forward, backward by data, backward by weight of each layer), by
// our kernel table and by the library alone.

#include "tools/bench/gemm.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <iostream>

#include "common/base/strings.h"
#include "common/kernels/cpu_kernels.h"
#include "tools/bench/gemm_layers.h"
#include "tools/bench/measure.h"
#include "tools/bench/peers/gemm_libraries.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

struct Rates {
  double Best() const { return std::max({ours, one_dnn, open_blas}); }

  double ours, one_dnn, open_blas;  // GFLOP/s
};

// All products of a step: by our kernels, oneDNN and OpenBLAS. layers: outlive the calls.
std::vector<std::function<void()>> StepProducts(std::vector<GemmLayer>* layers) {
  const auto each = [layers](const auto& work) {
    return [layers, work] {
      for (GemmLayer& layer : *layers) work(&layer);
    };
  };
  return {each([](GemmLayer* layer) { RunByTable(kernels::CpuKernels(), layer); }),
          each(RunByOneDnn), each(RunByOpenBlas)};
}

Rates Measure(int64_t batch, int repeats) {
  std::vector<GemmLayer> layers = GemmLayers(batch);
  const auto median = MedianSeconds(repeats, StepProducts(&layers));
  const double scale = TotalFlop(layers) / 1e9;
  return {scale / median[0], scale / median[1], scale / median[2]};
}

Status Verify(int64_t batch) {
  for (GemmLayer& layer : GemmLayers(batch)) {
    RunByTable(kernels::CpuKernels(), &layer);
    WEIR_RETURN_IF_ERROR(VerifyByPlainSums(layer));
  }
  return VerifyBf16(kernels::CpuBf16Kernels(), batch);
}

// Seconds that oneDNN takes for the products, measured in turns with ours; 0 where its build knows
// no bfloat16 on this processor.
std::array<double, 2> Bf16Seconds(std::vector<GemmLayer>& layers, int repeats) {
  const auto ours = [&] {
    for (GemmLayer& layer : layers) RunByTable(kernels::CpuBf16Kernels(), &layer);
  };
  std::deque<OneDnnBf16> peers;
  try {
    for (const GemmLayer& layer : layers) peers.emplace_back(layer);
  } catch (const dnnl::error& error) {
    std::cout << "gemm/bf16: oneDNN: " << error.what() << "\n";
    return {MedianSeconds(repeats, {ours})[0], 0};
  }
  const auto one_dnn = [&] {
    for (OneDnnBf16& peer : peers) peer.Run();
  };
  const auto median = MedianSeconds(repeats, {ours, one_dnn});
  return {median[0], median[1]};
}

void AddLine(const std::string& name, double ours, const char* peer, double theirs,
             const char* peer_name, Lines* lines) {
  lines->push_back({.name = StrCat("gemm/", name, "/of_", peer),
                    .value = ours,
                    .unit = "GFLOP/s",
                    .peer = peer_name,
                    .peer_value = theirs});
}

void AddBf16Lines(int64_t batch, int repeats, const Rates& f32, Lines* lines) {
  std::vector<GemmLayer> layers = GemmLayers(batch);
  const auto [ours, one_dnn] = Bf16Seconds(layers, repeats);
  const double scale = TotalFlop(layers) / 1e9;
  const std::string name = StrCat("bf16/batch_", batch);
  AddLine(name, scale / ours, "f32", f32.Best(), "the fastest in 32 bits", lines);
  AddLine(name, scale / ours, "onednn", one_dnn > 0 ? scale / one_dnn : 0, "oneDNN matmul of BF16",
          lines);
}

}  // namespace

GemmLimit::GemmLimit(int64_t batch) : batch_(batch), layers_(GemmLayers(batch)) {
  KeepLibrariesOnOneThread();
}

void GemmLimit::Measure(double seconds) {
  const auto works = StepProducts(&layers_);
  for (const auto& work : works) work();
  std::array<double, 3> spent = {};
  int64_t turns = 0;
  do {
    for (size_t i = 0; i < works.size(); ++i) spent[i] += Seconds(works[i]);
    ++turns;
  } while (*std::ranges::min_element(spent) < seconds);
  for (size_t i = 0; i < works.size(); ++i) {
    rates_[i].push_back(static_cast<double>(turns * batch_) / spent[i]);
  }
}

double GemmLimit::SamplesPerSecond() const {
  return std::max({Median(rates_[0]), Median(rates_[1]), Median(rates_[2])});
}

Result<Lines> BenchGemm(const Options& options) {
  KeepLibrariesOnOneThread();
  Lines lines;
  for (const int64_t batch : {128, 512, 2048}) {
    if (options.quick && batch > 128) break;
    WEIR_RETURN_IF_ERROR(Verify(batch));
    const Rates rates = Measure(batch, 3 * options.repeats);
    const std::string name = StrCat("batch_", batch);
    AddLine(name, rates.ours, "onednn", rates.one_dnn, "oneDNN dnnl_sgemm", &lines);
    AddLine(name, rates.ours, "openblas", rates.open_blas, "OpenBLAS sgemm", &lines);
    if (kernels::CpuIsFasterInBf16()) AddBf16Lines(batch, 3 * options.repeats, rates, &lines);
  }
  if (!kernels::CpuIsFasterInBf16()) {
    std::cout << "gemm/bf16: verified, not measured: this processor has no fast units for it\n";
  }
  return lines;
}

}  // namespace weir::bench
