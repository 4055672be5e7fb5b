// What DCT-MP does between two stages with one block of activations, on one thread: the choice of
// each sample's largest beside memcpy of the block and beside PyTorch's topk, and both ends
// together, frames and checksums included, beside ends that send everything.
//
// Blocks are as behind a ReLU, half of them zeros, and small enough for the caches, where the layer
// before leaves them.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "common/compress/kept_count.h"
#include "common/kernels/cpu_kernels.h"
#include "common/split/largest_per_sample.h"
#include "common/split/split_policy.h"
#include "tools/bench/measure.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/sections.h"
#include "tools/bench/split_block.h"

namespace weir::bench {
namespace {

constexpr int64_t kWidth = Block::kWidth, kSamples = Block::kSamples;
constexpr double kSparsity = 0.95;
constexpr int kBlocks = 8;   // measured in turns, each with its own numbers
constexpr int kRounds = 20;  // over the blocks, in one measured piece of work
constexpr int kPytorchSteps = 301;

// Both ends of a split.
class Ends {
 public:
  explicit Ends(const std::function<void(v1::SplitConfig*)>& choose) {
    v1::SplitConfig config;
    choose(&config);
    config.set_values(v1::BF16);
    sender_ = split::MakeSplitPolicy(config, 1, kernels::CpuKernels());
    receiver_ = split::MakeSplitPolicy(config, 1, kernels::CpuKernels());
  }

  Status Forward(Block& x) {
    frame_.clear();
    sender_->SendForward({}, x.view(), &sender_memory_, &frame_);
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, wire::FrameCursor(frame_).Next());
    return receiver_->TakeForward({}, frame, taken_.view(), &receiver_memory_);
  }
  Status Backward(Block& gradient) {
    frame_.clear();
    receiver_->SendBackward({}, gradient.view(), receiver_memory_, &frame_);
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, wire::FrameCursor(frame_).Next());
    return sender_->TakeBackward({}, frame, sender_memory_, taken_.view());
  }
  Block& taken() { return taken_; }

 private:
  std::unique_ptr<split::SplitPolicy> sender_, receiver_;
  split::BlockMemory sender_memory_, receiver_memory_;
  Bytes frame_;
  Block taken_{0};
};

void ChooseDctMp(v1::SplitConfig* config) { config->mutable_dct_mp()->set_sparsity(kSparsity); }
void ChooseNone(v1::SplitConfig* config) { config->mutable_none(); }

Status Verify() {
  Block x(9), gradient(10);
  Ends ends(ChooseDctMp);
  WEIR_RETURN_IF_ERROR(ends.Forward(x));
  Block taken(0);
  ends.taken().CopyTo(&taken);
  WEIR_RETURN_IF_ERROR(ends.Backward(gradient));
  return VerifyLargest(compress::KeptCount(kWidth, kSparsity), x, taken, gradient, ends.taken());
}

struct Run {
  const Options& options;
  std::vector<Block> blocks;
  Lines lines;

  // Calls work for each block, kRounds times.
  std::function<void()> Rounds(std::function<void(Block&)> work) {
    return [this, work = std::move(work)] {
      for (int round = 0; round < kRounds; ++round) {
        for (Block& block : blocks) work(block);
      }
    };
  }
  // Microseconds a block of each.
  std::vector<double> MedianMicroseconds(const std::vector<std::function<void()>>& works) {
    auto medians = MedianSeconds(options.repeats, works);
    for (double& seconds : medians) seconds *= 1e6 / (kRounds * kBlocks);
    return medians;
  }
  std::string Name(const std::string& what) const {
    return StrCat("split/", what, "/", kWidth, "x", kSamples);
  }
  void Add(const std::string& what, double ours, const std::string& peer, double peers) {
    lines.push_back({.name = Name(what),
                     .value = ours,
                     .unit = "us/block",
                     .peer = peer,
                     .peer_value = peers,
                     .better = Better::kLess});
  }
};

Status MeasureChoice(Run* run) {
  split::Chosen chosen;
  Block copy(0);
  const int64_t keep = compress::KeptCount(kWidth, kSparsity);
  const auto medians = run->MedianMicroseconds({run->Rounds([&](Block& block) {
                                                  split::ChooseLargest(block.view(), keep, &chosen);
                                                  KeepAlive(chosen.values().data());
                                                }),
                                                run->Rounds([&](Block& block) {
                                                  block.CopyTo(&copy);
                                                  KeepAlive(copy.view().data);
                                                })});
  run->Add("choose_95", medians[0], "memcpy of the block", medians[1]);
  WEIR_ASSIGN_OR_RETURN(const auto pytorch,
                        RunPeerScript(run->options.peers, "pytorch_split.py",
                                      {StrCat(kWidth), StrCat(kSamples), StrCat(keep),
                                       StrCat(run->options.quick ? 3 : kPytorchSteps)}));
  run->Add("choose_95_pytorch", medians[0], pytorch ? pytorch->peer + " topk" : "PyTorch topk",
           pytorch ? pytorch->values.at("topk") * 1e6 : 0);
  return OkStatus();
}

Status MeasureEnds(Run* run) {
  Ends masked(ChooseDctMp), whole(ChooseNone);
  Status first_error = OkStatus();
  const auto note = [&](const Status& status) {
    if (first_error.ok()) first_error = status;
  };
  const auto both = [&](Ends& ends) {
    return run->Rounds([&](Block& block) {
      note(ends.Forward(block));
      note(ends.Backward(block));
    });
  };
  const auto medians = run->MedianMicroseconds({both(masked), both(whole)});
  run->Add("both_ways_95", medians[0], "both ways with everything sent", medians[1]);
  return first_error;
}

}  // namespace

Result<Lines> BenchSplit(const Options& options) {
  WEIR_RETURN_IF_ERROR(Verify());
  Run run = {.options = options, .blocks = {}, .lines = {}};
  for (uint64_t seed = 1; seed <= kBlocks; ++seed) run.blocks.emplace_back(seed);
  WEIR_RETURN_IF_ERROR(MeasureChoice(&run));
  WEIR_RETURN_IF_ERROR(MeasureEnds(&run));
  return run.lines;
}

}  // namespace weir::bench
