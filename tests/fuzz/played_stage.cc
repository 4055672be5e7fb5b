#include "tests/fuzz/played_stage.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "google/protobuf/text_format.h"

namespace weir::fuzz {
namespace {

constexpr uint64_t kGeneration = 1;
constexpr int64_t kBatchSize = 8;
constexpr const char* kConfig = R"(
    data { batch_size: 8 chunk_batches: 2
           synthetic { rows: 16 test_rows: 16 tables: 2 dense_features: 3 rows_per_table: 20 } }
    model { bottom_widths: [8, 4] top_widths: [4, 1] embedding_dimension: 4 }
    pipeline { split { after: "bottom/0" dct_mp { sparsity: 0.5 } }
               split { after: "top/0" quantize { bits: 4 } } })";

std::unique_ptr<transport::ServerTransport> Tapped(uint32_t stage,
                                                   transport::LoopbackNetwork* network,
                                                   TappedServer** tap) {
  if (stage == 0) return nullptr;
  auto tapped = std::make_unique<TappedServer>(network->MakeServer());
  *tap = tapped.get();
  return tapped;
}

void Append(uint8_t sender, const std::vector<SentMessage>& messages, size_t index,
            std::string* input) {
  if (index < messages.size()) AppendMessage({sender, messages[index].message}, input);
}

// In turns, as a stage in the middle of a run hears them.
std::string InputFor(uint32_t stage, const std::vector<SentMessage>& of_before,
                     const std::vector<SentMessage>& of_next) {
  std::string input(1, static_cast<char>(stage));
  for (size_t i = 0; i < std::max(of_before.size(), of_next.size()); ++i) {
    Append(0, of_before, i, &input);
    Append(1, of_next, i, &input);
  }
  return input;
}

}  // namespace

v1::Config StageConfig() {
  v1::Config config;
  CHECK(google::protobuf::TextFormat::ParseFromString(kConfig, &config));
  config::FillDefaults(&config);
  const auto mistakes = config::ValidateConfig(config);
  CHECK(mistakes.empty()) << mistakes[0];
  return config;
}

data::Reader* OnlyReader() {
  static const std::unique_ptr<data::Reader> reader = data::MakeReader(StageConfig()).value();
  return reader.get();
}

std::string LinkAddress(uint32_t stage) { return StrCat("inproc://stage", stage); }

PlayedStage::PlayedStage(uint32_t stage, transport::LoopbackNetwork* network)
    : links_({.stage = stage, .stage_count = kStages, .listen_address = LinkAddress(stage)},
             Tapped(stage, network, &tap_), stage + 1 == kStages ? nullptr : network->MakeClient()),
      parts_({.stage = stage,
              .client = &client_,
              .links = &links_,
              .views = &views_,
              .reader = reader_,
              .tell_adopted = [](uint64_t, bool) {},
              .tell_lost = [](uint64_t) {},
              .clock = &clock_}) {
  CHECK(links_.Listen().ok());
  links_.Begin(
      [this](v1::Header header, transport::Message message) {
        queue_.TakeMessage(std::move(header), std::move(message));
      },
      [this](const Status& status) { Fail(status); }, [](uint64_t) {});
}

void PlayedStage::Begin() {
  v1::PipelineView view;
  view.set_generation(kGeneration);
  view.set_ready(true);
  for (uint32_t stage = 0; stage < kStages; ++stage) {
    auto& added = *view.add_stages();
    added.set_incarnation(1);
    added.set_link_address(LinkAddress(stage));
  }
  handover_.TakeView(view);
}

void PlayedStage::AddChunks() {
  for (const auto split : {data::Split::kTrain, data::Split::kTest}) {
    data::RowBlock rows;
    CHECK(reader_->ReadColumns({.split = split}, {.hash = true}, &rows).ok());
    v1::ChunkLease lease;
    lease.set_split(split == data::Split::kTest ? v1::TEST : v1::TRAIN);
    lease.set_generation(kGeneration);
    queue_.Add(std::make_shared<worker::ChunkWork>(lease, std::move(rows), kBatchSize));
  }
}

void PlayedStage::Step() {
  if (has_failed()) return;
  clock_.Advance(1);
  links_.Step(0);
  while (auto work = has_failed() ? std::nullopt : queue_.Next(0)) {
    const Status done = thread_.Do(*std::move(work));
    queue_.Finished();
    if (!done.ok()) Fail(done);
  }
}

std::vector<std::string> StageConversations() {
  transport::LoopbackNetwork network;
  std::vector<std::unique_ptr<PlayedStage>> stages;
  for (uint32_t i = 0; i < kStages; ++i) {
    stages.push_back(std::make_unique<PlayedStage>(i, &network));
  }
  for (const auto& stage : stages) stage->Begin();
  stages[0]->AddChunks();
  for (int turn = 0; turn < 30; ++turn) {
    for (const auto& stage : stages) stage->Step();
  }
  const TappedServer &middle = stages[1]->tap(), &last = stages[2]->tap();
  CHECK_EQ(middle.sent().size(), 4u);  // two batches of each chunk
  return {InputFor(0, {}, middle.sent()), InputFor(1, middle.received(), last.sent()),
          InputFor(2, last.received(), {})};
}

}  // namespace weir::fuzz
