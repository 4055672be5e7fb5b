// A worker without servers, end to end: reader, Hogwild threads, store, evaluation, summary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/worker/worker_test_support.h"
#include "worker/data/reader.h"
#include "worker/embedded/embedded_client.h"
#include "worker/worker.h"

namespace weir::worker {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Result<v1::RunReport> RunEmbedded(const v1::Config& config, WorkerOptions options) {
  const ModelLayout layout(config, 1);
  auto reader = data::MakeReader(config);
  CHECK(reader.ok()) << reader.status();
  EmbeddedClient client(config, layout);
  return Worker(config, layout, std::move(options), reader->get(), &client).Run();
}

// Of the constant that predicts best.
double BaseRateLogloss(const v1::Config& config) {
  auto reader = data::MakeReader(config);
  CHECK(reader.ok());
  double clicks = 0, rows = 0;
  data::RowBlock block;
  for (data::ChunkId id{.split = data::Split::kTest};; ++id.chunk) {
    const auto result = (*reader)->ReadChunk(id, &block);
    CHECK(result.ok());
    for (const float label : block.labels) clicks += label;
    rows += static_cast<double>(block.row_count());
    if (result->end_of_file) break;
  }
  const double rate = clicks / rows;
  return -rate * std::log(rate) - (1 - rate) * std::log1p(-rate);
}

WorkerOptions Threads(int count) {
  WorkerOptions options;
  options.threads = count;
  return options;
}

WorkerOptions Out(const std::filesystem::path& directory) {
  WorkerOptions options;
  options.out_directory = directory;
  auto log = metrics::MetricsLog::Open(directory);
  CHECK(log.ok()) << log.status();
  options.log = *std::move(log);
  return options;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Lends one test chunk of each of two evaluations, and nothing to train between them.
class TwoEvaluations : public EmbeddedClient {
 public:
  using EmbeddedClient::EmbeddedClient;
  Status Refresh() override {
    ++refreshes;
    return EmbeddedClient::Refresh();
  }
  Result<v1::WorkReply> RequestWork(v1::WorkRequest request, std::vector<Bytes>) override {
    v1::WorkReply reply;
    const uint32_t asked = requests_++;
    for (uint32_t i = request.known_evaluations(); i < asked / 2; ++i) {
      reply.mutable_progress()->add_evaluations()->set_at_samples(i);
    }
    if (asked == 4) {
      reply.set_finished(true);
      return reply;
    }
    reply.mutable_chunk()->set_lease(asked + 1);
    reply.mutable_chunk()->set_split(v1::TEST);
    reply.mutable_chunk()->set_chunk(asked % 2);
    return reply;
  }
  Result<v1::ReportReply> SendReport(v1::Report) override {
    v1::ReportReply reply;
    reply.mutable_run();
    return reply;
  }
  int refreshes = 0;

 private:
  uint32_t requests_ = 0;
};

TEST(EmbeddedRun, EveryEvaluationUsesTheParametersOfItsTime) {
  const v1::Config config = TinyRun();
  const ModelLayout layout(config, 1);
  auto reader = data::MakeReader(config);
  ASSERT_TRUE(reader.ok());
  TwoEvaluations client(config, layout);
  const auto report = Worker(config, layout, {}, reader->get(), &client).Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(client.refreshes, 2) << "others may have trained in between";
}

std::vector<std::string> LinesWith(const std::filesystem::path& path, const std::string& text) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.find(text) != std::string::npos) lines.push_back(line);
  }
  return lines;
}

TEST(EmbeddedRun, TrainsEverySampleAndLearns) {
  const v1::Config config = TinyRun();
  const auto report = RunEmbedded(config, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->mode(), "embedded");
  EXPECT_EQ(report->total().samples(), 8000u);
  EXPECT_EQ(report->total().steps(), 400u);
  EXPECT_EQ(report->test().samples(), 1000u);
  EXPECT_EQ(report->test().at_samples(), 8000u);
  EXPECT_LT(report->test().logloss(), BaseRateLogloss(config));
  EXPECT_GT(report->test().logloss(), report->bayes_logloss());
  EXPECT_GT(report->test().auc(), 0.55);
}

TEST(EmbeddedRun, IsReproducibleToTheBitWithOneThread) {
  const v1::Config config = TinyRun();
  const auto one = RunEmbedded(config, {}), other = RunEmbedded(config, {});
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(one->test().logloss(), other->test().logloss());
  EXPECT_EQ(one->test().auc(), other->test().auc());
  EXPECT_EQ(one->total().logloss_sum(), other->total().logloss_sum());
}

TEST(EmbeddedRun, DependsOnTheSeed) {
  v1::Config config = TinyRun();
  const auto one = RunEmbedded(config, {});
  config.mutable_run()->set_seed(2);
  const auto other = RunEmbedded(config, {});
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(one->test().logloss(), other->test().logloss());
}

TEST(EmbeddedRun, HogwildThreadsTrainEverySampleOnce) {
  const v1::Config config = TinyRun();
  const auto report = RunEmbedded(config, Threads(3));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->total().samples(), 8000u);
  EXPECT_EQ(report->threads(), 3u);
  EXPECT_LT(report->test().logloss(), BaseRateLogloss(config) * 1.05);
}

TEST(EmbeddedRun, AShortLastChunkAndBatchAreTrainedToo) {
  v1::Config config = TinyRun();
  config.mutable_data()->mutable_synthetic()->set_rows(507);
  config.mutable_data()->mutable_synthetic()->set_test_rows(13);
  config.mutable_data()->set_epochs(2);
  const auto report = RunEmbedded(config, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->total().samples(), 1014u);
  EXPECT_EQ(report->total().steps(), 52u);
  EXPECT_EQ(report->test().samples(), 13u);
}

TEST(EmbeddedRun, WithoutTestRowsHasNoTestFigures) {
  v1::Config config = TinyRun();
  config.mutable_data()->mutable_synthetic()->set_test_rows(0);
  const auto report = RunEmbedded(config, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->has_test());
  EXPECT_EQ(report->total().samples(), 8000u);
}

class EmbeddedRunFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "weir_embedded_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(EmbeddedRunFiles, WritesSummaryAndMetrics) {
  v1::Config config = TinyRun();
  config.mutable_run()->set_evaluate_every_samples(4000);
  const auto report = RunEmbedded(config, Out(directory_));
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string summary = ReadFile(directory_ / "summary.json");
  EXPECT_THAT(summary, HasSubstr("\"mode\": \"embedded\""));
  EXPECT_THAT(summary, HasSubstr("\"samples\": 8000"));
  const std::string metrics = directory_ / "metrics.jsonl";
  EXPECT_THAT(LinesWith(metrics, R"("kind":"train")"), Not(IsEmpty()));
  const std::vector<std::string> tests = LinesWith(metrics, R"("kind":"test")");
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_THAT(tests[0], Not(HasSubstr(R"("samples":8000)")));
  EXPECT_THAT(tests[1], HasSubstr(R"("samples":8000)"));
}

TEST(EmbeddedRun, ALearningRateThatBlowsUpStopsItAndNamesThePlace) {
  v1::Config config = TinyRun();
  v1::UpdateRule& rule = *config.mutable_update()->mutable_dense();
  rule.mutable_sgd()->set_learning_rate(1e20);
  rule.mutable_schedule()->set_warmup_steps(0);
  for (const int threads : {1, 3}) {
    const auto report = RunEmbedded(config, Threads(threads));
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.status().message(), HasSubstr("try a smaller learning rate"));
    EXPECT_THAT(report.status().message(),
                AnyOf(HasSubstr("bottom/"), HasSubstr("top/"), HasSubstr("the interaction")));
  }
}

// Of the thread that reads, as of those that train: else it would leave as if all were well.
TEST(EmbeddedRun, WithoutMemoryItEndsAndTellsTheOthersWhy) {
  class Client : public EmbeddedClient {
   public:
    using EmbeddedClient::EmbeddedClient;
    Result<v1::WorkReply> RequestWork(v1::WorkRequest, std::vector<Bytes>) override {
      throw std::bad_alloc();
    }
    void Stop(const Status& status, bool tell_others) override {
      told = tell_others;
      EmbeddedClient::Stop(status, tell_others);
    }
    bool told = false;
  };
  const v1::Config config = TinyRun();
  const ModelLayout layout(config, 1);
  auto reader = data::MakeReader(config);
  ASSERT_TRUE(reader.ok());
  Client client(config, layout);
  Worker worker(config, layout, Threads(1), reader->get(), &client);
  const auto report = worker.Run();
  EXPECT_EQ(report.status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(client.told);
}

TEST(EmbeddedRun, AnInterruptEndsIt) {
  v1::Config config = TinyRun();
  config.mutable_data()->set_epochs(1000000);
  const ModelLayout layout(config, 1);
  auto reader = data::MakeReader(config);
  ASSERT_TRUE(reader.ok());
  EmbeddedClient client(config, layout);
  Worker worker(config, layout, Threads(2), reader->get(), &client);
  std::thread interrupter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    worker.Interrupt();
  });
  const auto report = worker.Run();
  interrupter.join();
  EXPECT_EQ(report.status().code(), StatusCode::kInterrupted);
}

TEST(EmbeddedRun, AnInterruptBeforeTheStartCountsToo) {
  const v1::Config config = TinyRun();
  const ModelLayout layout(config, 1);
  auto reader = data::MakeReader(config);
  ASSERT_TRUE(reader.ok());
  EmbeddedClient client(config, layout);
  Worker worker(config, layout, {}, reader->get(), &client);
  worker.Interrupt();
  EXPECT_EQ(worker.Run().status().code(), StatusCode::kInterrupted);
}

}  // namespace
}  // namespace weir::worker
