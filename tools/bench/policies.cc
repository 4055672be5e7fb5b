// What the policies cost. Selection and coding of one layer in the steady state, on one thread, at
// a density of about 1 % where there is one: beside DCT-DP on the same gradients, exact top-k
// beside PyTorch's as well. And whole training, for policies that need sums of squares.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "tools/bench/local_run.h"
#include "tools/bench/measure.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/policy_candidates.h"
#include "tools/bench/processors.h"
#include "tools/bench/sections.h"
#include "tools/bench/select_layer.h"

namespace weir::bench {
namespace {

constexpr int kPercent = 99;
constexpr double kSparsity = kPercent / 100.0;
constexpr double kGoalOfPytorch = 10;
// The variance may take 40 % of a step.
constexpr double kGoalOfTraining = 0.6;
constexpr int64_t kTrainingRows = 40'000;

struct Size {
  int64_t mega = 0;
  int steps = 0;         // in one measured block
  int settle_steps = 0;  // until the density is steady
  int pytorch_steps = 0;

  int64_t element_count() const { return mega << 20; }
  std::string Name(const std::string& what) const {
    return StrCat("policies/", what, "/", mega, "M");
  }
};

constexpr Size kSizes[] = {{.mega = 1, .steps = 50, .settle_steps = 300, .pytorch_steps = 101},
                           {.mega = 16, .steps = 4, .settle_steps = 70, .pytorch_steps = 9}};

std::unique_ptr<SelectLayer> Settled(const v1::PolicyRule& rule, const Size& size,
                                     Gradients& gradients) {
  auto layer = std::make_unique<SelectLayer>(SelectOptions{.rule = rule,
                                                           .element_count = size.element_count(),
                                                           .values = wire::ValueCoding::kBf16,
                                                           .encodes = true},
                                             gradients);
  layer->Steps(size.settle_steps);
  layer->Forget();
  return layer;
}

Result<Lines> MeasureCandidate(const PolicyCandidate& candidate, const Size& size,
                               const Options& options, SelectLayer& dct, Gradients& gradients,
                               const std::optional<PeerResult>& pytorch) {
  const auto layer = Settled(candidate.rule, size, gradients);
  auto median = MedianOwnSeconds(options.repeats, {[&] { return layer->TimedSteps(size.steps); },
                                                   [&] { return dct.TimedSteps(size.steps); }});
  WEIR_RETURN_IF_ERROR(layer->CheckFrames());
  for (double& seconds : median) seconds *= 1e3 / size.steps;
  Lines lines = {{.name = size.Name(candidate.name),
                  .value = median[0],
                  .unit = "ms/step",
                  .peer = "DCT-DP",
                  .peer_value = median[1],
                  .goal = candidate.goal,
                  .better = Better::kLess},
                 {.name = size.Name(candidate.name + "_bits"),
                  .value = layer->BitsPerElement(),
                  .unit = "bits/element",
                  .peer = StrCat("DCT-DP; density ", Format("%.2f %%", 100 * layer->density())),
                  .peer_value = dct.BitsPerElement(),
                  .better = Better::kLess}};
  if (candidate.is_exact) WEIR_RETURN_IF_ERROR(layer->CheckDensity(kPercent));
  if (candidate.name == "top_k") {
    lines.push_back(
        {.name = size.Name("top_k_of_pytorch"),
         .value = median[0],
         .unit = "ms/step",
         .peer = pytorch ? pytorch->peer + " topk" : "PyTorch topk",
         .peer_value = pytorch ? 1e3 * pytorch->values.at(StrCat("topk_", kPercent)) : 0,
         .goal = kGoalOfPytorch,
         .better = Better::kLess});
  }
  return lines;
}

// A step with torch.topk.
Result<std::optional<PeerResult>> RunPytorch(const Size& size, const Options& options) {
  const int64_t elements = options.quick ? 65536 : size.element_count();
  return RunPeerScript(options.peers, "pytorch_select.py",
                       {StrCat(elements), StrCat(size.pytorch_steps), StrCat(kPercent)});
}

// Samples/s of one trainer and one server with a policy whose worker does more than select, beside
// DCT-DP. What is sent depends on the gradients' noise, so this takes training and no made-up
// steps.
Result<Lines> MeasureTraining(const Options& options) {
  struct Policy {
    const char* name;
    const char* rule;
    std::vector<double> rates = {};
  };
  Lines lines;
  for (const int64_t batch : {128, 512, 2048}) {
    if (options.quick && batch > 128) break;
    Policy policies[] = {{"dct", "dct { sparsity: 0.99 } values: BF16"},
                         {"variance", "variance {}"},
                         {"hybrid", "hybrid { threshold: 0.0005 }"}};
    for (int repeat = 0; repeat < std::min(options.repeats, kMaxRunRepeats); ++repeat) {
      for (Policy& policy : policies) {
        WEIR_ASSIGN_OR_RETURN(
            const LocalResult run,
            RunLocal({.config_files = options.quick ? "models/dlrm_tiny.textproto"
                                                    : "models/dlrm_criteo.textproto",
                      .policy = policy.rule,
                      .batch_size = batch,
                      .rows = options.quick ? 2'000 : kTrainingRows}));
        policy.rates.push_back(run.samples_per_second);
      }
    }
    for (const Policy& policy : std::span(policies).subspan(1)) {
      lines.push_back({.name = StrCat("policies/training/", policy.name, "/batch_", batch),
                       .value = Median(policy.rates),
                       .unit = "samples/s",
                       .peer = "DCT-DP 99 %",
                       .peer_value = Median(policies[0].rates),
                       .goal = kGoalOfTraining});
    }
  }
  return lines;
}

}  // namespace

Result<Lines> BenchPolicies(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(Lines lines, MeasureTraining(options));
  const OnProcessors on_one({QuieterProcessor()});  // PyTorch, too
  for (const Size& size : kSizes) {
    if (options.quick && size.mega > 1) break;
    WEIR_ASSIGN_OR_RETURN(const auto pytorch, RunPytorch(size, options));
    Gradients gradients(size.element_count());
    const auto dct = Settled(DctRule(kPercent), size, gradients);
    WEIR_RETURN_IF_ERROR(dct->CheckFrames());
    for (const PolicyCandidate& candidate : PolicyCandidates(kSparsity, dct->threshold())) {
      WEIR_ASSIGN_OR_RETURN(const Lines more,
                            MeasureCandidate(candidate, size, options, *dct, gradients, pytorch));
      lines.insert(lines.end(), more.begin(), more.end());
    }
  }
  return lines;
}

}  // namespace weir::bench
