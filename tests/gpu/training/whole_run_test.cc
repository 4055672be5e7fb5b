// All of it in one run: trainers with several streams of a card beside real servers learn, end with
// what the servers have, and nothing of their gradients is lost.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "common/layout/initial_values.h"
#include "common/saved_model/policy_states.h"
#include "tests/gpu/training/card_runs.h"
#include "tests/gpu/training/encoder_support.h"
#include "tests/gpu/training/recording_client.h"
#include "tests/integration/cluster_checks.h"
#include "tests/support/temp_folder.h"

namespace weir::test {
namespace {

constexpr uint32_t kTrainers = 2;
// What servers take off is of it, exactly, and of what they add up in floats so much is off.
constexpr double kRate = 0.03125, kBound = 5e-4;

v1::Config WholeConfig(const std::string& policy) {
  return MakeConfig({kSmallModel, StrCat("update { dense { sgd { learning_rate: ", kRate, " } } }"),
                     StrCat("compression { default { ", policy, " } }")});
}

// A run, and what there is of it afterwards, flat.
class WholeRun {
 public:
  explicit WholeRun(const v1::Config& config) : card_(config), cluster_(config, Options()) {}

  void Run() {
    cluster_.Run();
    ExpectAllOk(cluster_);
  }

  LoopbackCluster& cluster() { return cluster_; }
  size_t flat_count() const { return static_cast<size_t>(cluster_.layout().flat_element_count()); }

  std::vector<float> Replica(uint32_t trainer) const {
    const auto stream = card_.compute().device->MakeStream();
    std::vector<float> values(flat_count());
    stream->CopyToHost<float>({clients_[trainer]->client().replica(), values.size()}, values);
    CHECK(stream->Synchronize().ok());
    return values;
  }
  // Of all trainers.
  std::vector<double> Given() const {
    std::vector<double> sums(flat_count());
    for (const auto& client : clients_) {
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += client->gradients()[i];
    }
    return sums;
  }
  // As servers decoded and applied it.
  std::vector<double> Sent() {
    const std::vector<float> values = cluster_.ServerValues();
    std::vector<double> sums(values.size());
    for (const TensorSpec& tensor : cluster_.layout().tensors()) {
      for (int64_t k = 0; k < tensor.element_count(); ++k) {
        const auto i = static_cast<size_t>(tensor.offset + k);
        const float first = InitialDenseValue(cluster_.layout().seed(), tensor, k);
        sums[i] = (static_cast<double>(first) - static_cast<double>(values[i])) / kRate;
      }
    }
    return sums;
  }
  std::vector<double> Kept() const {
    std::vector<double> sums(flat_count());
    for (uint32_t trainer = 0; trainer < kTrainers; ++trainer) {
      const TempFolder folder;
      const worker::ServerClient& client = clients_[trainer]->client();
      CHECK(client.SavePolicyStates(folder.path()).ok());
      const auto take = [&](const v1::PolicyStateHeader& header, ByteSpan state) {
        AddResidual(cluster_.layout(), header.name(), state, &sums);
        return OkStatus();
      };
      CHECK(saved_model::VisitPolicyStates(folder.path(), trainer, client.run(), take).ok());
    }
    return sums;
  }
  double DiscardedL1() const {
    double sum = 0;
    for (const v1::LayerReport& layer : cluster_.report().total().layers())
      sum += layer.discarded_l1();
    return sum;
  }

 private:
  ClusterOptions Options() {
    ClusterOptions options{.servers = 3, .trainers = kTrainers, .threads = 3, .faults = {}};
    options.compute = [this](uint32_t, uint32_t) { return card_.compute(); };
    options.around = [this](worker::ServerClient* client) {
      clients_.push_back(std::make_unique<RecordingClient>(client, 3200, &meeting_));
      return clients_.back().get();
    };
    return options;
  }

  const Card card_;
  MeetingPoint meeting_{kTrainers};
  std::vector<std::unique_ptr<RecordingClient>> clients_;  // by trainer
  LoopbackCluster cluster_;
};

class WholeRunOnACard : public testing::TestWithParam<const char*> {};

TEST_P(WholeRunOnACard, EndsWithTheServersValuesAndLosesNothing) {
  WEIR_SKIP_WITHOUT_A_CARD();
  WholeRun run(WholeConfig(GetParam()));
  run.Run();
  EXPECT_LT(run.cluster().report().test().normalized_entropy(), 1.02);
  const std::vector<float> of_servers = run.cluster().ServerValues();
  for (uint32_t trainer = 0; trainer < kTrainers; ++trainer) {
    EXPECT_EQ(run.Replica(trainer), of_servers) << trainer;
  }
  const std::vector<double> given = run.Given(), sent = run.Sent(), kept = run.Kept();
  double discarded = 0, sent_l1 = 0, kept_l1 = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    const double lost = std::fabs(given[i] - sent[i] - kept[i]);
    if (run.DiscardedL1() == 0) {
      ASSERT_NEAR(lost, 0, kBound) << i;
    }
    discarded += lost, sent_l1 += std::fabs(sent[i]), kept_l1 += std::fabs(kept[i]);
  }
  EXPECT_EQ(run.DiscardedL1() > 0, std::string(GetParam()).find("DECAY") != std::string::npos);
  // What was discarded in several steps, of either sign, is less in sum.
  EXPECT_LE(discarded, run.DiscardedL1() + kBound * static_cast<double>(given.size()));
  EXPECT_GT(sent_l1, 1);
  EXPECT_GT(kept_l1, 0.1);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, WholeRunOnACard,
    testing::Values("dct { sparsity: 0.9 lifespan: 8 drain: NO_DRAIN } values: BF16",
                    "dct { sparsity: 0.9 lifespan: 8 drain: DECAY drain_factor: 0.5 }",
                    "strom { threshold: 0.01 }", "top_k { sparsity: 0.95 }"));

}  // namespace
}  // namespace weir::test
