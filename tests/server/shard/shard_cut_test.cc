// Cuts of a shard that goes on, and shards that are made of them.
#include "server/shard/shard_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/server/shard/running_shard.h"
#include "tests/server/shard/shard_cut_support.h"

namespace weir::server {
namespace {

// Pushes and pulls, with cuts among them.
class History {
 public:
  // by_stages: of workers of one stage each.
  History(const v1::Config& config, uint64_t seed, bool by_stages)
      : config_(config), random_(seed), by_stages_(by_stages) {}

  // Some events; a cut; more of them, with its sections between; and a shard made of it, which then
  // takes what came after it. Another shard has had what came before, and nothing else.
  void CheckCut() {
    for (int i = 0; i < 30; ++i) before_.Take(Go());
    std::vector<Event> after;
    const WrittenCut written = WriteMeanwhile(&after);
    ASSERT_GT(written.sections.size(), original_.shard().dense_strands().size() + 3);
    Running restored(config_, true);
    const Status status = RestoreFrom(written, &restored.shard());
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(restored.BitsOfAll() == before_.BitsOfAll());
    for (const uint32_t stage : {0u, 1u}) {
      ASSERT_EQ(restored.shard().version(stage), before_.shard().version(stage));
    }
    for (const Event& event : after) {
      restored.Take(event);
      before_.Take(event);
    }
    ASSERT_TRUE(restored.BitsOfAll() == original_.BitsOfAll());
  }

 private:
  Event Go() {
    Event event = RandomEvent(random_, original_.layout(), by_stages_);
    original_.Take(event);
    return event;
  }
  WrittenCut WriteMeanwhile(std::vector<Event>* after) {
    CutReader reader(&original_.shard());
    for (bool is_done = false; !is_done || after->size() < 20; is_done = reader.Look()) {
      after->push_back(Go());
      if (random_.NextBelow(3) == 0) original_.shard().WaitIdle();
    }
    return reader.ReadAll();
  }

  const v1::Config config_;
  RandomStream random_;
  const bool by_stages_;
  Running original_{config_}, before_{config_};
};

TEST(ShardCut, IsWhatTheShardWasAndGoesOnAsItWouldHave) {
  const std::pair<const char*, const char*> rules[] = {
      {"sgd { learning_rate: 0.1 }", "sgd { learning_rate: 0.1 } weight_decay: 0.01"},
      {"momentum { learning_rate: 0.1 }", "momentum { learning_rate: 0.1 }"},
      {"momentum { learning_rate: 0.1 } dense_semantics: true",
       "rowwise_adagrad { learning_rate: 0.1 } weight_decay: 0.01"},
      {"adagrad { learning_rate: 0.1 } schedule { warmup_steps: 20 }",
       "adagrad { learning_rate: 0.1 } schedule { warmup_steps: 20 }"},
      {"adam { learning_rate: 0.01 } weight_decay: 0.01", "adam { learning_rate: 0.01 }"},
  };
  uint64_t seed = 0;
  for (const auto& [dense, rows] : rules) {
    SCOPED_TRACE(testing::Message() << dense << " and " << rows << ", seed " << ++seed);
    History history(CutConfig(dense, rows), seed, seed % 2 == 0);
    history.CheckCut();
    history.CheckCut();
  }
}

}  // namespace
}  // namespace weir::server
