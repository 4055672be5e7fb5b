#include "tools/bench/training_peers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir::bench {
namespace {

VariantRate Rate(const char* name, bool bf16, double samples_per_second) {
  return {{name, bf16, {}}, name, samples_per_second};
}

TEST(TrainingVariants, HaveANameEachInTheirPrecision) {
  std::set<std::pair<bool, std::string>> names;
  for (const TrainingVariant& variant : TrainingVariants()) {
    EXPECT_TRUE(names.emplace(variant.bf16, variant.name).second) << variant.name;
  }
  EXPECT_TRUE(names.contains({false, "pytorch"}));
  EXPECT_TRUE(names.contains({true, "pytorch"}));
}

TEST(TrainingVariants, ComputeInThePrecisionThatTheyAreCountedUnder) {
  for (const TrainingVariant& variant : TrainingVariants()) {
    const std::set<std::string> arguments(variant.arguments.begin(), variant.arguments.end());
    EXPECT_EQ(arguments.contains("--bf16"), variant.bf16) << variant.name;
  }
}

TEST(FastestVariant, IsOfThePrecisionThatIsAskedFor) {
  const std::vector<VariantRate> rates = {Rate("pytorch", false, 100), Rate("fbgemm", false, 120),
                                          Rate("torchrec", false, 110), Rate("pytorch", true, 150),
                                          Rate("fbgemm", true, 140)};
  ASSERT_NE(Fastest(rates, false), nullptr);
  EXPECT_EQ(Fastest(rates, false)->variant.name, "fbgemm");
  ASSERT_NE(Fastest(rates, true), nullptr);
  EXPECT_EQ(Fastest(rates, true)->variant.name, "pytorch");
}

TEST(FastestVariant, IsNoneThatCouldNotBeMeasured) {
  EXPECT_EQ(Fastest({}, false), nullptr);
  const std::vector<VariantRate> rates = {Rate("fbgemm", false, 0), Rate("pytorch", false, 100),
                                          Rate("fbgemm", true, 0)};
  ASSERT_NE(Fastest(rates, false), nullptr);
  EXPECT_EQ(Fastest(rates, false)->variant.name, "pytorch");
  EXPECT_EQ(Fastest(rates, true), nullptr);
}

// Takes the place of the interpreter in a folder of peers, and says so much.
void AnswerWith(const std::filesystem::path& folder, const std::string& line) {
  const std::filesystem::path python = folder / "bin" / "python";
  std::filesystem::create_directories(python.parent_path());
  std::ofstream(python) << "#!/bin/sh\necho '" << line << "'\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
}

TEST(TrainingPeers, AFailureOfTheFastestLeavesWhatWasMeasured) {
  auto folder = TemporaryFolder::Make();
  ASSERT_TRUE(folder.ok()) << folder.status();
  Options options;
  options.peers = folder->path();
  options.quick = true;
  auto peers = TrainingPeers::Make(128, options);
  ASSERT_TRUE(peers.ok()) << peers.status();
  AnswerWith(options.peers,
             R"({"peer": "a peer", "values": {"threads_1": 100, "threads_2": 150}})");
  peers->MeasureAll(/*with_bf16=*/false);
  peers->MeasureFastest();
  AnswerWith(options.peers, R"({"peer": "a peer", "failure": "no memory"})");
  peers->MeasureFastest();
  EXPECT_EQ(peers->one_thread(), std::vector<double>{100});
  EXPECT_EQ(peers->two_threads(), std::vector<double>{150});
  EXPECT_TRUE(peers->bf16().empty());
}

}  // namespace
}  // namespace weir::bench
