#include "tools/bench/training_peers.h"

#include <iostream>
#include <utility>

#include "common/base/strings.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/processors.h"

namespace weir::bench {
namespace {

constexpr const char* kScript = "pytorch_dlrm.py";
constexpr double kRepeatSeconds = 0.6;
constexpr int kRepeats = 3;  // in one process

// Not a constant expression, because its words are strings.
const TrainingVariant variants[] = {
    {"pytorch", false, {}},
    {"pytorch_compile", false, {"--compile"}},
    {"fbgemm", false, {"--tables=fbgemm"}},
    {"fbgemm_compile", false, {"--tables=fbgemm", "--compile"}},
    {"torchrec", false, {"--tables=torchrec"}},
    {"pytorch", true, {"--bf16"}},
    {"pytorch_compile", true, {"--bf16", "--compile"}},
    {"fbgemm", true, {"--bf16", "--tables=fbgemm"}},
    {"fbgemm_compile", true, {"--bf16", "--tables=fbgemm", "--compile"}},
};

// The quieter of two processors, on which one thread runs, before the other.
std::string Processors() {
  const int quieter = QuieterProcessor();
  std::vector<std::string> processors = {StrCat(quieter)};
  for (const int processor : TwoProcessors()) {
    if (processor != quieter) processors.push_back(StrCat(processor));
  }
  return StrJoin(processors, ",");
}

}  // namespace

std::span<const TrainingVariant> TrainingVariants() { return variants; }

const VariantRate* Fastest(const std::vector<VariantRate>& rates, bool bf16) {
  const VariantRate* fastest = nullptr;
  for (const VariantRate& rate : rates) {
    if (rate.variant.bf16 != bf16 || !(rate.samples_per_second > 0)) continue;
    if (fastest == nullptr || rate.samples_per_second > fastest->samples_per_second) {
      fastest = &rate;
    }
  }
  return fastest;
}

TrainingPeers::TrainingPeers(int64_t batch, const Options& options, TemporaryFolder cache)
    : batch_(batch), options_(options), cache_(std::move(cache)) {}

Result<TrainingPeers> TrainingPeers::Make(int64_t batch, const Options& options) {
  WEIR_ASSIGN_OR_RETURN(TemporaryFolder cache, TemporaryFolder::Make());
  return TrainingPeers(batch, options, std::move(cache));
}

std::vector<std::string> TrainingPeers::Arguments(const TrainingVariant& variant,
                                                  const std::string& threads) const {
  std::vector<std::string> arguments = variant.arguments;
  arguments.insert(arguments.end(),
                   {StrCat("--batch=", batch_), StrCat("--threads=", threads),
                    StrCat("--seconds=", options_.quick ? 0 : kRepeatSeconds),
                    StrCat("--repeats=", options_.quick ? 1 : kRepeats),
                    StrCat("--processors=", Processors()), StrCat("--cache=", cache_.path())});
  return arguments;
}

void TrainingPeers::MeasureAll(bool with_bf16) {
  for (const TrainingVariant& variant : variants) {
    if (variant.bf16 && !with_bf16) continue;
    const auto result = RunPeerScript(options_.peers, kScript, Arguments(variant, "1"));
    if (result.ok() && !*result) return;  // no PyTorch, for the others neither
    if (result.ok()) {
      all_.push_back({variant, (*result)->peer, (*result)->values.at("threads_1")});
    } else {
      all_.push_back({variant, StrCat("not measured: ", result.status().message())});
    }
  }
}

void TrainingPeers::MeasureFastest() {
  if (const VariantRate* f32 = Fastest(all_, false)) {
    MeasureAgain(f32->variant, "1,2", &one_thread_, &two_threads_);
  }
  if (const VariantRate* bf16 = Fastest(all_, true)) {
    MeasureAgain(bf16->variant, "1", &bf16_, nullptr);
  }
}

void TrainingPeers::MeasureAgain(const TrainingVariant& variant, const std::string& threads,
                                 std::vector<double>* one, std::vector<double>* two) const {
  const auto result = RunPeerScript(options_.peers, kScript, Arguments(variant, threads));
  if (!result.ok() || !*result) {
    std::cout << "not measured again: " << variant.name << " at batch " << batch_ << "; "
              << (result.ok() ? "its library is gone" : result.status().message()) << "\n";
    return;
  }
  one->push_back((*result)->values.at("threads_1"));
  if (two != nullptr) two->push_back((*result)->values.at("threads_2"));
}

}  // namespace weir::bench
