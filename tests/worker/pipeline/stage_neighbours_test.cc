// A stage beside a neighbour that sends it what does not fit: it fails with a message that names
// the neighbour and what is wrong, and nothing it was sent is counted as trained or scored. And
// what it pushes of what fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "common/device/cpu_device.h"
#include "common/session/header_message.h"
#include "common/session/score_message.h"
#include "common/tensor/aligned_buffer.h"
#include "common/transport/loopback.h"
#include "common/wire/frame.h"
#include "common/wire/row_frame.h"
#include "tests/support/loopback_cluster.h"
#include "tests/worker/recording_client.h"
#include "worker/model/kernels_for.h"
#include "worker/pipeline/stage_trainer.h"

namespace weir::worker {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kOwn[] = "inproc://own", kNext[] = "inproc://next";
constexpr int64_t kPatienceMs = 20'000;
constexpr int32_t kBatchSize = 20;
constexpr uint64_t kAccepted = 2;  // pushes, all the time
constexpr uint64_t kLease = 7;

// A stage of two, alone but for what the test plays: coordinator and neighbour.
class StageNeighboursTest : public testing::Test {
 protected:
  explicit StageNeighboursTest(uint32_t stage)
      : links_({.trainer = 0,
                .stage = stage,
                .stage_count = 2,
                .listen_address = kOwn,
                .advertised_address = ""},
               stage == 0 ? nullptr : network_.MakeServer(),
               stage == 0 ? network_.MakeClient() : nullptr) {
    CHECK(links_.Listen().ok());
    const StageParts parts{.trainer = 0,
                           .stage = stage,
                           .client = &client_,
                           .links = &links_,
                           .views = &views_,
                           .reader = reader_.get(),
                           .tell_adopted =
                               [this](uint64_t generation, bool awaited_next) {
                                 adopted_ = {generation, awaited_next};
                               },
                           .tell_lost = [](uint64_t) {}};
    trainer_.emplace(config_, layout_, model::CpuComputeFor(config_.model()), 1, parts,
                     [this](const Status& status) {
                       std::lock_guard lock(mutex_);
                       if (failure_.ok()) failure_ = status;
                       changed_.notify_all();
                     });
    SetGeneration(1);
  }

  // All stages are there, and what was told of the generation's adoption.
  std::pair<uint64_t, bool> SetGeneration(uint64_t generation) {
    v1::PipelineView view;
    view.set_generation(generation);
    view.set_ready(true);
    for (int i = 0; i < 2; ++i) view.add_stages()->set_incarnation(1);
    view.mutable_stages(1)->set_link_address(kNext);
    views_.Set(view);
    return adopted_;
  }

  std::string Failure() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [&] { return !failure_.ok(); });
    return failure_.message();
  }
  uint64_t Steps() const {
    v1::WorkerReport report;
    trainer_->FillReport(&report);
    return report.steps();
  }
  data::RowBlock Rows(data::Split split) {
    data::RowBlock rows;
    CHECK(reader_->ReadColumns({.split = split}, {.hash = true}, &rows).ok());
    return rows;
  }

  const v1::Config config_ = test::MakeConfig({R"(
      data { batch_size: 20 synthetic { rows: 200 test_rows: 50 tables: 3 dense_features: 5 } }
      model { bottom_widths: [16, 8] top_widths: [16, 1] embedding_dimension: 8 }
      cluster { window: 1 answer_timeout_ms: 60000 }
      update { rows { rowwise_adagrad { learning_rate: 0.01 } clip_norm: 1e-4 } }
      pipeline { split { after: "bottom/0" dct_mp { sparsity: 0.5 } } })"});
  const ModelLayout layout_{config_, 1};
  const std::unique_ptr<data::Reader> reader_ = data::MakeReader(config_).value();
  transport::LoopbackNetwork network_;
  RecordingClient client_{config_, layout_, kAccepted};
  PipelineViews views_;
  StageLinks links_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Status failure_;
  std::pair<uint64_t, bool> adopted_;
  std::optional<StageTrainer> trainer_;
};

// --- What the stage before sends --------------------------------------------------------------

class LastStageTest : public StageNeighboursTest {
 protected:
  LastStageTest() : StageNeighboursTest(1) { connection_ = neighbour_->Open(kOwn).value(); }

  // As the first stage sends its first batch.
  void Make() {
    const data::RowBlock rows = Rows(data::Split::kTrain);
    StageBatch batch;
    batch.number = 1;
    data::MakeBatch(rows, 0, kBatchSize, &batch.batch);
    v1::StageForward& forward = *header_.mutable_stage_forward();
    forward.set_generation(1);
    forward.set_batch(1);
    v1::BatchName& name = *forward.mutable_name();
    name.set_split(v1::TRAIN);
    name.set_row_count(kBatchSize);
    name.set_mean_rows(kBatchSize);
    name.set_chunk_hash(rows.hash);
    StageMath math(layout_, 0, 0, model::CpuComputeFor(config_.model()), device::CpuStream(), {});
    session::BodyWriter writer;
    CHECK(math.Forward(client_.replica(), {}, StageMath::Crossing::kAsTrained, nullptr, &batch,
                       &writer)
              .ok());
    session::Body body;
    writer.MoveTo(&body);
    CHECK_EQ(body.size(), 1u);
    frames_.assign(body[0].span().begin(), body[0].span().end());
  }
  // And the same rows of a test chunk, which it sends with and without what the split leaves out.
  void SendTest(uint32_t evaluation) {
    const data::RowBlock rows = Rows(data::Split::kTest);
    StageBatch batch;
    data::MakeBatch(rows, 0, kBatchSize, &batch.batch);
    v1::StageForward& forward = *header_.mutable_stage_forward();
    forward.set_generation(1);
    forward.set_batch(forward.batch() + 1);
    name().set_split(v1::TEST);
    name().set_evaluation(evaluation);
    name().set_row_count(kBatchSize);
    name().set_mean_rows(kBatchSize);
    name().set_chunk_hash(rows.hash);
    batch.name = name();
    StageMath math(layout_, 0, 0, model::CpuComputeFor(config_.model()), device::CpuStream(), {});
    session::Body body;
    for (const auto crossing : {StageMath::Crossing::kAsTrained, StageMath::Crossing::kWhole}) {
      session::BodyWriter writer;
      CHECK(math.Forward(client_.replica(), {}, crossing, nullptr, &batch, &writer).ok());
      writer.MoveTo(&body);
    }
    CHECK(neighbour_->Send(connection_, session::MakeMessage(header_, body)).ok());
  }
  void Send() {
    session::Body body;
    if (!frames_.empty()) body.emplace_back(frames_);
    CHECK(neighbour_->Send(connection_, session::MakeMessage(header_, body)).ok());
  }
  std::vector<float> Parameters() const {
    const float* const replica = device::OnHost(client_.replica());
    return {replica, replica + layout_.flat_element_count()};
  }
  v1::BatchName& name() { return *header_.mutable_stage_forward()->mutable_name(); }

  const std::unique_ptr<transport::ClientTransport> neighbour_ = network_.MakeClient();
  transport::ConnectionId connection_ = 0;
  v1::Header header_;
  Bytes frames_;
};

TEST_F(LastStageTest, AnswersABatchThatFits) {
  Make();
  Send();
  const auto answer = neighbour_->Receive(kPatienceMs);
  ASSERT_TRUE(answer);
  const auto header = session::ParseHeader(answer->message);
  ASSERT_TRUE(header.ok() && header->has_stage_backward());
  EXPECT_EQ(header->stage_backward().batch(), 1u);
  EXPECT_GT(header->stage_backward().logloss_sum(), 0);
  EXPECT_EQ(answer->message.parts.size(), 2u);
  EXPECT_TRUE(failure_.ok());
}

TEST_F(LastStageTest, ClipsTheGradientsOfItsRows) {
  Make();
  Send();
  ASSERT_TRUE(neighbour_->Receive(kPatienceMs));
  trainer_.reset();  // it answers before it pushes
  const auto pushes = client_.pushed();
  ASSERT_EQ(pushes.size(), 1u);
  EXPECT_NEAR(NormOf(pushes[0].rows), 1e-4, 1e-9);
}

TEST_F(LastStageTest, RefreshesItsReplicaOnceBeforeItScoresForAnEvaluation) {
  Make();
  Send();
  ASSERT_TRUE(neighbour_->Receive(kPatienceMs));
  int refreshes = 1;  // before the first batch to train on
  EXPECT_EQ(client_.refreshes(), refreshes);
  for (const uint32_t evaluation : {0u, 1u}) {
    ++refreshes;
    for (int batch = 0; batch < 2; ++batch) {
      SendTest(evaluation);
      const auto answer = neighbour_->Receive(kPatienceMs);
      ASSERT_TRUE(answer);
      EXPECT_TRUE(session::ParseHeader(answer->message)->stage_backward().has_scores());
      EXPECT_EQ(client_.refreshes(), refreshes);
    }
  }
}

TEST_F(LastStageTest, ScoresNothingWithAReplicaThatCouldNotBeRefreshed) {
  client_.FailRefreshes(Unavailable("server 1 does not answer"));
  SendTest(0);
  EXPECT_EQ(Failure(), "server 1 does not answer");
  trainer_.reset();
  EXPECT_FALSE(neighbour_->Receive(0));
}

struct BadBatch {
  const char* what;
  const char* message;
  std::function<void(v1::BatchName* name, Bytes* frames)> damage;
};

std::vector<BadBatch> BadBatches() {
  static constexpr char kRows[] = "it has no rows, or more than it should have";
  return {
      {"NoRows", kRows, [](v1::BatchName* name, Bytes*) { name->set_row_count(0); }},
      {"MoreRowsThanItsMean", kRows,
       [](v1::BatchName* name, Bytes*) { name->set_mean_rows(kBatchSize - 1); }},
      {"MoreRowsThanABatch", "rows, and data.batch_size is 20 here; give all stages the same",
       [](v1::BatchName* name, Bytes*) {
         name->set_row_count(kBatchSize + 1);
         name->set_mean_rows(kBatchSize + 1);
       }},
      {"MoreMalformedLinesThanAChunkHas", "more malformed lines than a chunk has",
       [](v1::BatchName* name, Bytes*) {
         for (uint32_t i = 0; i < 1u << 20; ++i) name->add_malformed(i);
       }},
      {"NoFrames", "frame at byte 0", [](v1::BatchName*, Bytes* frames) { frames->clear(); }},
      {"ATwin", "more frames than the batch has slices",
       [](v1::BatchName*, Bytes* frames) {
         const Bytes copy = *frames;
         frames->insert(frames->end(), copy.begin(), copy.end());
       }},
      {"FewerRowsThanFrames", "",  // of whatever the mask says first
       [](v1::BatchName* name, Bytes*) { name->set_row_count(kBatchSize / 2); }},
  };
}

class BadBatchTest : public LastStageTest, public testing::WithParamInterface<BadBatch> {};

TEST_P(BadBatchTest, EndsTheStageWithTheNameOfItsSender) {
  Make();
  GetParam().damage(&name(), &frames_);
  const std::vector<float> before = Parameters();
  Send();
  EXPECT_THAT(Failure(), AllOf(StartsWith("trainer 0 stage 0 sent a batch that does not fit: "),
                               HasSubstr(GetParam().message)));
  trainer_.reset();
  EXPECT_FALSE(neighbour_->Receive(0)) << "it is not answered";
  EXPECT_EQ(Parameters(), before);
}

INSTANTIATE_TEST_SUITE_P(Of, BadBatchTest, testing::ValuesIn(BadBatches()),
                         [](const auto& bad) { return std::string(bad.param.what); });

TEST_F(LastStageTest, RefusesRowsThatItDoesNotHave) {
  Make();
  name().set_begin(190);
  Send();
  EXPECT_THAT(Failure(), HasSubstr("chunk 0 of file 0 has 200 rows, and the first stage names rows "
                                   "190 to 210"));
}

TEST_F(LastStageTest, RefusesTheLinesOfAnotherFile) {
  Make();
  name().set_chunk_hash(name().chunk_hash() + 1);
  Send();
  EXPECT_THAT(Failure(), HasSubstr("has other lines here than at the first stage"));
}

// --- What the stage behind sends --------------------------------------------------------------

class FirstStageTest : public StageNeighboursTest {
 protected:
  FirstStageTest() : StageNeighboursTest(0) { CHECK(neighbour_->Bind(kNext).ok()); }

  // Gives the stage a chunk and takes its first batch.
  void Begin(data::Split split, uint64_t generation = 1) {
    v1::ChunkLease lease;
    lease.set_split(split == data::Split::kTest ? v1::TEST : v1::TRAIN);
    lease.set_generation(generation);
    lease.set_lease(kLease);
    rows_ = Rows(split);
    chunk_ = std::make_shared<ChunkWork>(lease, rows_, kBatchSize);
    trainer_->Add(chunk_);
    backward().set_generation(generation);
    backward().set_from_stage(1);
    TakeBatch();
  }
  void TakeBatch() {
    const auto message = neighbour_->Receive(kPatienceMs);
    CHECK(message);
    peer_ = message->peer;
    const auto header = session::ParseHeader(message->message);
    CHECK(header.ok() && header->has_stage_forward());
    forward_ = header->stage_forward();
    frames_ = session::BodyOf(message->message);
    backward().set_batch(forward_.batch());
  }
  void Answer(const session::Body& body) {
    CHECK(neighbour_->Send(peer_, session::MakeMessage(header_, body)).ok());
  }
  size_t RowElements(const data::Batch& batch) const {
    size_t rows = 0;
    for (const data::TableIds& ids : batch.tables) rows += ids.unique.size();
    return rows * static_cast<size_t>(layout_.embedding_dimension());
  }
  // As the stage behind trains the batch, all its parameters 0.
  session::Body Train() {
    const v1::BatchName& name = forward_.name();
    const auto begin = static_cast<int64_t>(name.begin());
    StageBatch batch;
    batch.number = forward_.batch();
    batch.name = name;
    data::MakeBatch(rows_, begin, begin + name.row_count(), &batch.batch);
    const size_t row_elements = RowElements(batch.batch);
    const auto flat = static_cast<size_t>(layout_.flat_element_count());
    tensor::AlignedBuffer parameters(flat), dense(flat), rows(row_elements), of_rows(row_elements);
    StageMath math(layout_, 0, 1, model::CpuComputeFor(config_.model()), device::CpuStream(), {});
    session::BodyReader frames(frames_);
    session::BodyWriter back;
    const device::Pointer<const float> zeros = device::OnCpu(parameters.data());
    const device::Span<const float> no_rows = device::OnCpu(rows.span());
    CHECK(math.Forward(zeros, no_rows, StageMath::Crossing::kAsTrained, &frames, &batch, nullptr)
              .ok());
    CHECK(math.Loss(zeros, no_rows, &batch).ok());
    CHECK(math.Backward(zeros, {device::OnCpu(dense.data()), device::OnCpu(of_rows.span()), {}},
                        nullptr, &batch, &back)
              .ok());
    session::Body body;
    back.MoveTo(&body);
    return body;
  }
  // Of the first rows, which are the batch's unless there are more or fewer.
  session::Body WriteScores(size_t row_count) {
    eval::Scores scores;
    scores.probabilities.assign(row_count, 0.5f);
    scores.unmasked.assign(row_count, 0.5f);
    scores.labels.assign(rows_.labels.begin(),
                         rows_.labels.begin() + static_cast<std::ptrdiff_t>(row_count));
    session::Body body;
    body.emplace_back(session::WriteScores(scores, backward().mutable_scores()));
    return body;
  }
  v1::StageBackward& backward() { return *header_.mutable_stage_backward(); }

  static constexpr char kMisfit[] = "trainer 0 stage 1 sent a batch that does not fit: ";
  const std::unique_ptr<transport::ServerTransport> neighbour_ = network_.MakeServer();
  transport::PeerId peer_;
  data::RowBlock rows_;
  std::shared_ptr<ChunkWork> chunk_;
  v1::StageForward forward_;  // that it sent last
  session::Body frames_;      // with it
  v1::Header header_;
};

TEST_F(FirstStageTest, RefusesALossThatIsNotFinite) {
  Begin(data::Split::kTrain);
  backward().set_logloss_sum(std::numeric_limits<double>::quiet_NaN());
  Answer(frames_);
  EXPECT_EQ(Failure(), StrCat(kMisfit, "its loss is not finite"));
  EXPECT_EQ(Steps(), 0u);
}

TEST_F(FirstStageTest, RefusesABatchWithoutGradients) {
  Begin(data::Split::kTrain);
  Answer({});
  EXPECT_THAT(Failure(), AllOf(StartsWith(kMisfit), HasSubstr("frame at byte 0")));
  EXPECT_EQ(Steps(), 0u);
}

TEST_F(FirstStageTest, RefusesItsOwnActivationsAsGradients) {
  Begin(data::Split::kTrain);
  Answer(frames_);
  EXPECT_THAT(Failure(), AllOf(StartsWith(kMisfit), HasSubstr("expected "), HasSubstr("got a ")));
  EXPECT_EQ(Steps(), 0u);
}

TEST_F(FirstStageTest, RefusesScoresOfATrainingBatch) {
  Begin(data::Split::kTrain);
  Answer(WriteScores(kBatchSize));
  EXPECT_THAT(Failure(), AllOf(StartsWith(kMisfit), HasSubstr("scores of other rows")));
  EXPECT_EQ(Steps(), 0u);
}

TEST_F(FirstStageTest, RefusesGradientsOfATestBatch) {
  Begin(data::Split::kTest);
  Answer(frames_);
  EXPECT_EQ(Failure(), StrCat(kMisfit, "gradients of a batch that has none"));
}

TEST_F(FirstStageTest, RefusesScoresOfFewerRows) {
  Begin(data::Split::kTest);
  Answer(WriteScores(kBatchSize - 1));
  EXPECT_THAT(Failure(), AllOf(StartsWith(kMisfit), HasSubstr("scores of other rows")));
}

TEST_F(FirstStageTest, RefusesScoresOfOtherLabels) {
  Begin(data::Split::kTest);
  rows_.labels[3] = 1 - rows_.labels[3];
  Answer(WriteScores(kBatchSize));
  EXPECT_THAT(Failure(), AllOf(StartsWith(kMisfit), HasSubstr("scores of other rows")));
}

TEST_F(FirstStageTest, RefusesScoresThatAreNone) {
  Begin(data::Split::kTest);
  WriteScores(kBatchSize);
  Bytes rows;
  wire::AppendRowIds(&rows, 0, 4, std::vector<uint64_t>{1});
  Answer({transport::Part(std::move(rows))});
  EXPECT_THAT(Failure(), StartsWith(kMisfit));
}

TEST_F(FirstStageTest, RefusesAnAnswerThatIsNoBatch) {
  Begin(data::Split::kTrain);
  header_.Clear();
  header_.mutable_hello();
  Answer({});
  EXPECT_EQ(Failure(),
            "trainer 0 stage 1 at inproc://next answers with something that is no batch");
}

TEST_F(FirstStageTest, TellsWhenANewGenerationBeginsWhetherItAwaitedTheNextStage) {
  EXPECT_EQ(SetGeneration(2), std::pair(uint64_t{2}, false));
  Begin(data::Split::kTrain, 2);
  EXPECT_EQ(SetGeneration(3), std::pair(uint64_t{3}, true));
}

TEST_F(FirstStageTest, APushTellsTheRowsOfItsLeaseThatAreAccepted) {
  Begin(data::Split::kTrain);
  Answer(Train());
  for (int batch = 1; batch < 10; ++batch) {
    TakeBatch();
    Answer(Train());
  }
  ASSERT_TRUE(chunk_->AwaitFinished());
  std::vector<uint64_t> offsets;
  for (const RecordingClient::Pushed& push : client_.pushed()) {
    EXPECT_EQ(push.lease, kLease);
    offsets.push_back(push.offset);
  }
  EXPECT_THAT(offsets, ElementsAre(0, 20, 40, 40, 40, 40, 40, 40, 40, 40));
}

// Twice the same, and one that never left, are passed over.
TEST_F(FirstStageTest, TakesScoresThatFitOnce) {
  Begin(data::Split::kTest);
  const uint64_t first = backward().batch();
  for (const uint64_t number : {first, first, first + 1000}) {
    backward().set_batch(number);
    Answer(WriteScores(kBatchSize));
  }
  for (int batch = 1; batch < 3; ++batch) {  // the rest of the chunk
    const auto message = neighbour_->Receive(kPatienceMs);
    ASSERT_TRUE(message);
    const v1::StageForward forward = session::ParseHeader(message->message)->stage_forward();
    backward().set_batch(forward.batch());
    rows_.labels.erase(rows_.labels.begin(), rows_.labels.begin() + kBatchSize);
    Answer(WriteScores(forward.name().row_count()));
  }
  EXPECT_TRUE(chunk_->AwaitFinished());
  EXPECT_EQ(chunk_->scores().probabilities, std::vector<float>(50, 0.5f));
  EXPECT_TRUE(failure_.ok()) << failure_;
}

}  // namespace
}  // namespace weir::worker
