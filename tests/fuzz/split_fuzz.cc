// What every policy of a split makes of a neighbour's frame, forward and backward, behind the
// checksum, which would stop nearly every damaged input. The input begins with a byte each for the
// policy and whether the frame goes back, and what the header says: value coding and two for the
// count; the rest is the payload.
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "common/base/check.h"
#include "common/config/defaults.h"
#include "common/kernels/cpu_kernels.h"
#include "common/split/split_policy.h"
#include "google/protobuf/text_format.h"
#include "tests/fuzz/target.h"

namespace weir::fuzz {
namespace {

using split::BlockMemory;
using split::SplitPolicy;

constexpr std::array kPolicies = {
    "none {}",
    "dct_mp { sparsity: 0.9 }",
    "dct_mp { sparsity: 0.9 measure_only: true }",
    "gaussian_sketch { compression: 0.5 fixed: true exact_adjoint: true }",
    "random_k { sparsity: 0.75 }",
    "quantize { bits: 4 }",
    "gaussian_sketch { compression: 0.5 }",
    "top_k_gradient { sparsity: 0.9 }",
};
constexpr int64_t kFeatures = 40, kSamples = 17;
constexpr split::BlockName kName = {.batch = 3, .split = 0, .slice = 1};
constexpr size_t kHeadBytes = 5;

std::unique_ptr<SplitPolicy> MakePolicy(size_t index) {
  v1::Config config;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      std::string("pipeline { split { after: \"bottom/1\" ") + kPolicies[index] + " } }", &config));
  config::FillDefaults(&config);
  return split::MakeSplitPolicy(config.pipeline().split(0), 5, kernels::CpuKernels());
}

// A block and what both ends remember of it: there was a whole one before.
class Split {
 public:
  explicit Split(size_t index) : sender_(MakePolicy(index)), receiver_(MakePolicy(index)) {
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    }
    sender_->SendForward(kName, block(), &sent_, &forward_);
    CHECK(receiver_->TakeForward(kName, Only(forward_), block(), &taken_).ok());
    receiver_->SendBackward(kName, block(), taken_, &backward_);
  }

  void Take(const wire::FrameView& frame) {
    const bool is_back = frame.header.kind == wire::FrameKind::kActivationGradients;
    BlockMemory memory = sent_;
    const Status status = is_back ? sender_->TakeBackward(kName, frame, memory, block())
                                  : receiver_->TakeForward(kName, frame, block(), &memory);
    if (!status.ok() || is_back) return;
    for (size_t i = 0; i < memory.kept.size(); ++i) {
      CHECK_LT(memory.kept[i], uint32_t{kFeatures * kSamples});
      CHECK(i == 0 || memory.kept[i - 1] < memory.kept[i]);
    }
    Bytes bytes;  // a gradient on whatever mask that was
    receiver_->SendBackward(kName, block(), memory, &bytes);
    CHECK(sender_->TakeBackward(kName, Only(bytes), memory, block()).ok());
  }

  const Bytes& forward() const { return forward_; }
  const Bytes& backward() const { return backward_; }

 private:
  static constexpr int64_t kStride = 32;

  static wire::FrameView Only(const Bytes& bytes) {
    return wire::FrameCursor(bytes).Next().value();
  }
  kernels::MatrixView block() { return {values_.data(), kFeatures, kSamples, kStride}; }

  std::unique_ptr<SplitPolicy> sender_, receiver_;
  BlockMemory sent_, taken_;
  Bytes forward_, backward_;
  std::array<float, kFeatures* kStride> values_ = {};
};

void ReadInput(const uint8_t* data, size_t size) {
  if (size < kHeadBytes) return;
  wire::FrameView frame;
  frame.header.kind =
      data[1] % 2 == 0 ? wire::FrameKind::kActivations : wire::FrameKind::kActivationGradients;
  frame.header.coding = static_cast<wire::ValueCoding>(1 + (data[2] + 3u) % 4);
  frame.header.tensor = kName.split;
  frame.header.begin = kName.slice;
  frame.header.count = data[3] | static_cast<uint32_t>(data[4]) << 8;
  frame.payload = {data + kHeadBytes, size - kHeadBytes};
  frame.header.length = static_cast<uint32_t>(frame.payload.size());
  // What the cursor holds every frame to.
  if (frame.header.count > 8 * uint64_t{frame.header.length}) return;
  Split(data[0] % kPolicies.size()).Take(frame);
}

std::string Seed(size_t policy, bool is_back, const Bytes& frame) {
  const wire::FrameView view = wire::FrameCursor(frame).Next().value();
  const uint32_t count = view.header.count;
  std::string seed = {static_cast<char>(policy), static_cast<char>(is_back ? 1 : 0),
                      static_cast<char>(view.header.coding), static_cast<char>(count),
                      static_cast<char>(count >> 8)};
  return seed.append(view.payload.begin(), view.payload.end());
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i < kPolicies.size(); ++i) {
    const Split split(i);
    seeds.push_back(Seed(i, false, split.forward()));
    seeds.push_back(Seed(i, true, split.backward()));
  }
  return seeds;
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::fuzz::ReadInput(data, size);
  return 0;
}
