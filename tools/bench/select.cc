// Selection of DCT in its steady state, on one thread: beside memcpy of the gradient, beside adding
// the gradient to the residual alone, and beside PyTorch's operators.

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "tools/bench/measure.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/sections.h"
#include "tools/bench/select_layer.h"

namespace weir::bench {
namespace {

constexpr int64_t kMega = 1 << 20;

struct Size {
  int64_t mega = 0;
  int steps = 0;               // in one measured block
  int settle_steps = 0;        // until the density is steady
  double goal = 0;             // of memcpy's speed
  double goal_of_pytorch = 0;  // times its speed; 0: not measured at this size

  int64_t element_count() const { return mega * kMega; }
  std::string Name(const std::string& what) const {
    return StrCat("select/", what, "/", mega, "M");
  }
};

constexpr Size kSizes[] = {
    {.mega = 1, .steps = 50, .settle_steps = 300, .goal = 0.40, .goal_of_pytorch = 15},
    {.mega = 16, .steps = 4, .settle_steps = 70, .goal = 0, .goal_of_pytorch = 7},
    {.mega = 64, .steps = 1, .settle_steps = 70, .goal = 0.80, .goal_of_pytorch = 0},
};

constexpr int kLayers = 5;

// What the lines of one size have in common.
struct Run {
  const Size& size;
  const Options& options;
  Gradients gradients;
  std::optional<PeerResult> pytorch;
  Lines lines;
};

struct Coding {
  wire::ValueCoding values;
  const char* suffix;
};

// F32, the default of the config, carries the goals.
constexpr Coding kCodings[] = {{wire::ValueCoding::kF32, ""}, {wire::ValueCoding::kBf16, "_bf16"}};

double GigabytesPerSecond(const Size& size, double step_seconds) {
  return static_cast<double>(size.element_count()) * sizeof(float) / step_seconds / 1e9;
}

// Our step beside PyTorch's of that form.
void AddPytorchLine(const std::string& name, const std::string& form, int percent, double goal,
                    double step_seconds, Run* run) {
  Line line = {.name = run->size.Name(StrCat(name, "_", percent)),
               .value = step_seconds * 1e3,
               .unit = "ms/step",
               .peer = "PyTorch",
               .goal = goal,
               .better = Better::kLess};
  if (run->pytorch) {
    line.peer = StrCat(run->pytorch->peer, " ", form);
    line.peer_value = run->pytorch->values[StrCat(form, "_", percent)] * 1e3;
  }
  run->lines.push_back(line);
}

void AddPytorchLines(int percent, double step_seconds, Run* run) {
  const double goal = run->size.goal_of_pytorch;
  if (goal == 0) return;
  AddPytorchLine("pytorch", "fastest", percent, goal, step_seconds, run);
  AddPytorchLine("pytorch_compare", "compare", percent, 0, step_seconds, run);
  AddPytorchLine("pytorch_topk", "topk", percent, 0, step_seconds, run);
}

// Seconds of a step of selection and of a copy of its gradient, of one layer.
Result<std::vector<double>> MeasureLayer(int percent, const Coding& coding, Run* run) {
  const Size& size = run->size;
  SelectLayer layer(
      {.rule = DctRule(percent), .element_count = size.element_count(), .values = coding.values},
      run->gradients);
  layer.Steps(size.settle_steps);
  WEIR_RETURN_IF_ERROR(layer.CheckDensity(percent));
  tensor::AlignedBuffer copy(static_cast<size_t>(size.element_count()));
  const auto copy_steps = [&] {
    for (int i = 0; i < size.steps; ++i) {
      const std::span<const float> gradient = run->gradients.Next();
      std::memcpy(copy.data(), gradient.data(), gradient.size_bytes());
      KeepAlive(copy.data());
    }
  };
  std::vector<double> median =
      MedianSeconds(run->options.repeats, {[&] { layer.Steps(size.steps); }, copy_steps});
  WEIR_RETURN_IF_ERROR(layer.CheckDensity(percent));
  for (double& seconds : median) seconds /= size.steps;
  return median;
}

// Where there are goals the middle of several layers, since one may be slower than the others
// throughout.
Status Measure(int percent, const Coding& coding, Run* run) {
  const Size& size = run->size;
  const bool is_goal = coding.values == wire::ValueCoding::kF32;
  std::vector<double> steps, copies;
  for (int i = 0; i < (is_goal ? kLayers : 1); ++i) {
    WEIR_ASSIGN_OR_RETURN(const std::vector<double> seconds, MeasureLayer(percent, coding, run));
    steps.push_back(seconds[0]);
    copies.push_back(seconds[1]);
  }
  const std::vector<double> median = {Median(steps), Median(copies)};
  run->lines.push_back({.name = size.Name(StrCat("dct_", percent, coding.suffix)),
                        .value = GigabytesPerSecond(size, median[0]),
                        .unit = "GB/s",
                        .peer = "memcpy of the gradient",
                        .peer_value = GigabytesPerSecond(size, median[1]),
                        .goal = is_goal ? size.goal : 0});
  if (is_goal) AddPytorchLines(percent, median[0], run);
  return OkStatus();
}

// Adding without selecting is what the memory allows.
void MeasureAccumulate(Run* run) {
  const Size& size = run->size;
  SelectLayer selecting({.element_count = size.element_count()}, run->gradients);
  SelectLayer adding({.element_count = size.element_count()}, run->gradients);
  selecting.Steps(size.settle_steps);
  const auto median = MedianSeconds(
      run->options.repeats,
      {[&] { selecting.Steps(size.steps); }, [&] { adding.AccumulateSteps(size.steps); }});
  run->lines.push_back({.name = size.Name("dct_99_of_accumulate"),
                        .value = GigabytesPerSecond(size, median[0] / size.steps),
                        .unit = "GB/s",
                        .peer = "residual += gradient",
                        .peer_value = GigabytesPerSecond(size, median[1] / size.steps)});
}

// What a new threshold costs, spread over the steps that it lives.
void MeasureLifespans(const std::vector<int32_t>& lifespans, int steps, Run* run) {
  const Size& size = run->size;
  std::vector<std::unique_ptr<SelectLayer>> layers;
  std::vector<std::function<void()>> works;
  for (const int32_t lifespan : lifespans) {
    layers.push_back(std::make_unique<SelectLayer>(
        SelectOptions{.rule = DctRule(99, lifespan), .element_count = size.element_count()},
        run->gradients));
    layers.back()->Steps(size.settle_steps);
    works.push_back([layer = layers.back().get(), steps] { layer->Steps(steps); });
  }
  const auto median = MedianSeconds(run->options.repeats, works);
  for (size_t i = 0; i + 1 < lifespans.size(); ++i) {
    run->lines.push_back({.name = size.Name(StrCat("lifespan_", lifespans[i])),
                          .value = median[i] / steps * 1e6,
                          .unit = "us/step",
                          .peer = StrCat("lifespan ", lifespans.back()),
                          .peer_value = median.back() / steps * 1e6,
                          .better = Better::kLess});
  }
}

Status MeasureSize(Run* run) {
  const Size& size = run->size;
  const bool quick = run->options.quick;
  if (size.goal_of_pytorch != 0) {
    const int64_t elements = quick ? 65536 : size.element_count();
    WEIR_ASSIGN_OR_RETURN(std::optional<PeerResult> result,
                          RunPeerScript(run->options.peers, "pytorch_select.py",
                                        {StrCat(elements), size.mega == 1 ? "301" : "15"}));
    if (result) run->pytorch = *std::move(result);
  }
  for (const int percent : {99, 95}) {
    for (const Coding& coding : kCodings) WEIR_RETURN_IF_ERROR(Measure(percent, coding, run));
  }
  MeasureAccumulate(run);
  if (size.mega == 1) {
    MeasureLifespans({1, 10, 100, 1000}, quick ? 100 : 1000, run);
  } else {
    MeasureLifespans({1, 1000}, 4, run);
  }
  return OkStatus();
}

Status Verify() {
  Gradients gradients(kMega + 17);
  for (const Coding& coding : kCodings) {
    SelectLayer layer({.element_count = kMega + 17, .values = coding.values}, gradients);
    WEIR_RETURN_IF_ERROR(layer.CheckAgainstPlainLoop(10));
  }
  return OkStatus();
}

}  // namespace

Result<Lines> BenchSelect(const Options& options) {
  WEIR_RETURN_IF_ERROR(Verify());
  Lines lines;
  for (const Size& size : kSizes) {
    if (options.quick && size.mega > 1) break;
    Run run = {.size = size,
               .options = options,
               .gradients = Gradients(size.element_count()),
               .pytorch = {},
               .lines = {}};
    WEIR_RETURN_IF_ERROR(MeasureSize(&run));
    lines.insert(lines.end(), run.lines.begin(), run.lines.end());
  }
  return lines;
}

}  // namespace weir::bench
