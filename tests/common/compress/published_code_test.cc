// What the authors' public code sends (kljp/exdyna), and ours.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/common/compress/published_gradients.h"

namespace weir::compress {
namespace {

Union UnionOf(const AgreedStep& step, const std::vector<int64_t>& sizes) {
  Union all;
  uint32_t begin = 0;
  for (size_t layer = 0; layer < sizes.size(); ++layer) {
    for (const uint32_t index : step.agreed[layer]) {
      ++all.count;
      all.hash = all.hash * 31 + begin + index;
    }
    begin += static_cast<uint32_t>(sizes[layer]);
  }
  return all;
}

// What is sent in each step.
class PublishedRun {
 public:
  PublishedRun(const std::string& policy, std::vector<int64_t> sizes, std::vector<float> scales)
      : sizes_(std::move(sizes)), scales_(std::move(scales)) {
    v1::PolicyRule rule;
    CHECK(google::protobuf::TextFormat::ParseFromString(policy, &rule)) << policy;
    policy_ = MakePolicy(WithDefaults(rule));
    for (uint32_t i = 0; i < kWorkers; ++i) {
      owned_.push_back(std::make_unique<Trainer>(*policy_, sizes_, wire::ValueCoding::kF32));
      trainers_.push_back(owned_.back().get());
    }
  }

  Union Step(float scale = 1) {
    std::vector<Layers> gradients;
    for (uint32_t rank = 0; rank < kWorkers; ++rank) {
      gradients.push_back(GradientOf(step_, rank, sizes_, scales_));
      for (std::vector<float>& layer : gradients.back()) {
        for (float& value : layer) value *= scale;
      }
    }
    const AgreedStep step = StepTogether(trainers_, step_++, gradients);
    counts_.clear();
    for (const Proposal& proposal : step.proposals) {
      counts_.push_back(0);
      for (const auto& indexes : proposal.indexes) counts_.back() += indexes.size();
    }
    return UnionOf(step, sizes_);
  }

  // Of each worker's proposal in the last step.
  const std::vector<uint64_t>& counts() const { return counts_; }
  double threshold() const { return trainers_[0]->proposer->threshold(); }

 private:
  const std::vector<int64_t> sizes_;
  const std::vector<float> scales_;
  std::unique_ptr<const Policy> policy_;
  std::vector<std::unique_ptr<Trainer>> owned_;
  std::vector<Trainer*> trainers_;
  uint64_t step_ = 0;
  std::vector<uint64_t> counts_;
};

// Of the layers of 300, 90 and 10 elements, which the code takes for one vector.
std::vector<Union> UnionsOf(const std::string& policy, size_t steps) {
  PublishedRun run(policy, {300, 90, 10}, std::vector<float>(400, 64));
  std::vector<Union> unions;
  for (size_t i = 0; i < steps; ++i) unions.push_back(run.Step());
  return unions;
}

TEST(PublishedCode, CltKSendsTheSame) {
  const std::vector<Union> published = {{20, 544894798u},  {20, 2653559997u}, {20, 755731638u},
                                        {20, 2222478754u}, {20, 252462684u},  {20, 2919067847u}};
  EXPECT_EQ(UnionsOf("clt_k { sparsity: 0.95 }", published.size()), published);
}

TEST(PublishedCode, UnionTopKSendsTheSame) {
  const std::vector<Union> published = {{78, 2749443658u}, {76, 1438057593u}, {75, 2829855390u},
                                        {74, 2061223449u}, {74, 3488816276u}, {71, 4105869966u}};
  EXPECT_EQ(UnionsOf("union_top_k { sparsity: 0.95 }", published.size()), published);
}

// The code's threshold is 1 / (2 sqrt k), with k = 20.
TEST(PublishedCode, UnionHardThresholdSendsTheSame) {
  const std::vector<Union> published = {{159, 830485282u},  {146, 3268095686u}, {166, 1360945710u},
                                        {152, 3328772287u}, {171, 3137628184u}, {147, 4236349181u}};
  EXPECT_EQ(UnionsOf("union_hard_threshold { threshold: 0.11180339887498948 }", published.size()),
            published);
}

// The first of three layers, of 40,000 elements together, has larger gradients in its first part,
// so that blocks move; in the first step nothing reaches the threshold.
TEST(PublishedCode, ExDynaSendsTheSame) {
  std::vector<float> scales(40'000, 1);
  std::fill_n(scales.begin(), 13'333, 4.0f);
  PublishedRun run("exdyna { sparsity: 0.99 band: UPWARD literal_partitions: true start: PAPER }",
                   {30'000, 9'000, 1'000}, scales);
  const std::map<int, Union> published = {
      {0, {4, 8404992u}},        {1, {626, 3073439661u}},  {2, {1129, 627234269u}},
      {3, {1655, 2573404256u}},  {4, {2033, 2165554380u}}, {5, {2151, 121442011u}},
      {11, {2071, 850870969u}},  {23, {2089, 167986297u}}, {35, {1934, 3451783267u}},
      {47, {1930, 4165217219u}}, {59, {1809, 4126957612u}}};
  for (int step = 0; step < 60; ++step) {
    const Union sent = run.Step(step == 0 ? 0x1p-10f : 1);
    const auto expected = published.find(step);
    if (expected != published.end()) {
      ASSERT_EQ(sent, expected->second) << "step " << step;
    }
    if (step == 58) {
      EXPECT_DOUBLE_EQ(run.threshold(), 0.03321962084568601) << "for step 59";
    }
  }
  EXPECT_EQ(run.counts(), (std::vector<uint64_t>{400, 732, 470, 207}));
}

}  // namespace
}  // namespace weir::compress
