// The GEMMs of one training step (forward, backward by data, backward by weight of each layer), by
// our kernel table and by libraries alone.

#include "tools/bench/gemm.h"

#include <algorithm>
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

// All products of a step by our kernels, and then by the libraries that are there. layers: outlive
// the calls.
std::vector<std::function<void()>> StepProducts(std::vector<GemmLayer>* layers) {
  const auto each = [layers](const auto& work) {
    return [layers, work] {
      for (GemmLayer& layer : *layers) work(&layer);
    };
  };
  std::vector<std::function<void()>> products = {
      each([](GemmLayer* layer) { RunByTable(kernels::CpuKernels(), layer); })};
  for (const GemmLibrary& library : GemmLibraries()) {
    if (library.run != nullptr) products.emplace_back(each(library.run));
  }
  return products;
}

// GFLOP/s, in the order of StepProducts.
std::vector<double> Measure(int64_t batch, int repeats) {
  std::vector<GemmLayer> layers = GemmLayers(batch);
  std::vector<double> rates = MedianSeconds(repeats, StepProducts(&layers));
  for (double& rate : rates) rate = TotalFlop(layers) / 1e9 / rate;
  return rates;
}

Status Verify(int64_t batch) {
  for (GemmLayer& layer : GemmLayers(batch)) {
    RunByTable(kernels::CpuKernels(), &layer);
    WEIR_RETURN_IF_ERROR(VerifyByPlainSums(layer));
  }
  return VerifyBf16(kernels::CpuBf16Kernels(), batch);
}

void AddLine(const std::string& name, double ours, const std::string& peer_name,
             const std::string& peer, double theirs, Lines* lines) {
  lines->push_back({.name = StrCat("gemm/", name, "/of_", peer_name),
                    .value = ours,
                    .unit = "GFLOP/s",
                    .peer = peer,
                    .peer_value = theirs});
}

void AddF32Lines(int64_t batch, const std::vector<double>& rates, Lines* lines) {
  size_t measured = 1;
  for (const GemmLibrary& library : GemmLibraries()) {
    const double theirs = library.run == nullptr ? 0 : rates[measured++];
    AddLine(StrCat("batch_", batch), rates[0], library.name, library.peer, theirs, lines);
  }
}

// Ours in turns with oneDNN's, where that has such products here.
void AddBf16Lines(int64_t batch, int repeats, double fastest_f32, Lines* lines) {
  std::vector<GemmLayer> layers = GemmLayers(batch);
  std::vector<std::function<void()>> works = {[&] {
    for (GemmLayer& layer : layers) RunByTable(kernels::CpuBf16Kernels(), &layer);
  }};
  const Bf16Products one_dnn = OneDnnBf16Products(layers);
  if (one_dnn.run) works.push_back(one_dnn.run);
  const std::vector<double> median = MedianSeconds(repeats, works);
  const double scale = TotalFlop(layers) / 1e9, ours = scale / median[0];
  const std::string name = StrCat("bf16/batch_", batch);
  AddLine(name, ours, "f32", "the fastest in 32 bits", fastest_f32, lines);
  AddLine(name, ours, "onednn", one_dnn.peer, one_dnn.run ? scale / median[1] : 0, lines);
}

}  // namespace

GemmLimit::GemmLimit(int64_t batch) : batch_(batch), layers_(GemmLayers(batch)) {}

void GemmLimit::Measure(double seconds) {
  const auto works = StepProducts(&layers_);
  for (const auto& work : works) work();
  std::vector<double> spent(works.size());
  rates_.resize(works.size());
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
  double fastest = 0;
  for (const std::vector<double>& rates : rates_) fastest = std::max(fastest, Median(rates));
  return fastest;
}

Result<Lines> BenchGemm(const Options& options) {
  Lines lines;
  for (const int64_t batch : {128, 512, 2048}) {
    if (options.quick && batch > 128) break;
    WEIR_RETURN_IF_ERROR(Verify(batch));
    const std::vector<double> rates = Measure(batch, 3 * options.repeats);
    AddF32Lines(batch, rates, &lines);
    if (kernels::CpuIsFasterInBf16()) {
      AddBf16Lines(batch, 3 * options.repeats, *std::ranges::max_element(rates), &lines);
    }
  }
  if (!kernels::CpuIsFasterInBf16()) {
    std::cout << "gemm/bf16: verified, not measured: this processor has no fast units for it\n";
  }
  return lines;
}

}  // namespace weir::bench
