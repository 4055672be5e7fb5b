// A model that so many servers have saved, loaded by as many others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/defaults.h"
#include "common/saved_model/places.h"
#include "common/saved_model/writer.h"
#include "server/coordinator/save_book.h"
#include "server/shard/shard.h"
#include "tests/server/server_test_support.h"
#include "tests/server/shard/shard_cut_support.h"
#include "tests/server/shard/step_support.h"
#include "tests/server/written_part.h"

namespace weir::server {
namespace {

using Numbers = std::pair<std::vector<float>, std::vector<float>>;  // values and state

struct Contents {
  std::map<std::pair<uint32_t, int64_t>, Numbers> pieces;  // by tensor and begin
  std::map<std::pair<uint32_t, uint64_t>, Numbers> rows;   // by table and id

  bool operator==(const Contents&) const = default;
};

std::vector<float> Copy(std::span<const float> numbers) { return {numbers.begin(), numbers.end()}; }

// Rules with state.
v1::Config StatefulConfig() {
  v1::Config config = TinyConfig();
  config.mutable_update()->mutable_dense()->mutable_adam()->set_learning_rate(0.1);
  config.mutable_update()->mutable_rows()->mutable_adagrad()->set_learning_rate(0.1);
  config::FillDefaults(&config);
  return config;
}

class Servers {
 public:
  Servers(const v1::Config& config, uint32_t count, bool awaits_load)
      : config_(config), layout_(config, count) {
    for (uint32_t i = 0; i < count; ++i) {
      shards_.push_back(std::make_unique<Shard>(config_, layout_, i, &outbox_,
                                                ShardOptions{.awaits_load = awaits_load}));
    }
  }

  // A gradient for each piece and for a part of the rows.
  void Train() {
    for (uint32_t i = 0; i < shards_.size(); ++i) {
      shards_[i]->Post(MakeStep(*shards_[i], {GradientsFor(i)}).value());
      shards_[i]->WaitIdle();
      CHECK(outbox_.TakeAll().steps[0]->answers[0].status.ok());
    }
  }

  Status Save(const std::string& folder) {
    WEIR_ASSIGN_OR_RETURN(const auto writer, saved_model::Writer::Create(folder));
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = config_;
    manifest.set_steps(1);
    for (const auto& shard : shards_) {
      const WrittenCut cut = CutReader(shard.get(), CutForm::kModel).ReadAll();
      for (const Bytes& section : cut.sections) WEIR_RETURN_IF_ERROR(writer->Append(section));
    }
    return writer->Finish(std::move(manifest));
  }

  // As servers do it, each its part.
  Status SaveParts(const std::string& folder, uint64_t run) {
    WEIR_ASSIGN_OR_RETURN(const auto model, saved_model::ModelFolder::CreateForRun(folder, run));
    const auto count = static_cast<uint32_t>(shards_.size());
    SaveBook book(config_.data(), count);
    book.Expect(v1::LearnedColumns());
    book.Begin();
    for (uint32_t i = 0; i < count; ++i) {
      WEIR_ASSIGN_OR_RETURN(
          const v1::PartReport part,
          WritePart(shards_[i].get(),
                    saved_model::FileIn(model->path(), saved_model::PartName(i, count))));
      book.Take(i, part);
    }
    WEIR_ASSIGN_OR_RETURN(v1::SavedModelManifest manifest, book.Manifest());
    EXPECT_EQ(manifest.steps(), 1u);
    *manifest.mutable_config() = config_;
    return model->Finish(std::move(manifest));
  }

  Status Load(const std::string& folder) {
    WEIR_ASSIGN_OR_RETURN(const auto model, saved_model::SavedModel::Open(folder));
    for (const auto& shard : shards_) {
      LoadProgress progress;
      WEIR_RETURN_IF_ERROR(shard->Load(*model, config_, &progress));
    }
    return OkStatus();
  }

  // Of all servers; each piece and row of the server that it belongs to.
  Contents contents() const {
    Contents contents;
    for (uint32_t i = 0; i < shards_.size(); ++i) {
      for (const auto& strand : shards_[i]->dense_strands()) {
        const store::Piece& piece = strand->piece();
        contents.pieces[{piece.spec().tensor, piece.spec().begin}] = {Copy(piece.values()),
                                                                      Copy(piece.state())};
      }
      for (const auto& strand : shards_[i]->row_strands()) {
        strand->rows().ForEachRow([&](uint32_t table, uint64_t id, std::span<const float> values,
                                      std::span<const float> state) {
          EXPECT_EQ(RowServer(table, id, layout_.server_count()), i);
          contents.rows[{table, id}] = {Copy(values), Copy(state)};
        });
      }
    }
    return contents;
  }

 private:
  std::vector<Bytes> GradientsFor(uint32_t server) const {
    std::vector<Bytes> frames;
    for (const PieceSpec& piece : layout_.pieces()) {
      if (piece.server == server) frames.push_back(GradientFrame(piece, 0, {0}, {0.5f}));
    }
    for (uint32_t table = 0; table < layout_.tables().size(); ++table) {
      std::vector<uint64_t> ids;
      for (uint64_t id = table; id < kTableRows; id += 2) {
        if (RowServer(table, id, layout_.server_count()) == server) ids.push_back(id);
      }
      frames.push_back(RowGradientsFrame(table, ids, 0.25f));
    }
    return frames;
  }

  const v1::Config config_;
  const ModelLayout layout_;
  Outbox outbox_{[] {}};
  std::vector<std::unique_ptr<Shard>> shards_;
};

TEST(ShardCount, AModelIsTheSameHoweverManyServersSaveAndLoadIt) {
  std::string pattern = testing::TempDir() + "weir_count_XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  for (const uint32_t savers : {1u, 2u, 3u, 4u, 5u}) {
    Servers saving(StatefulConfig(), savers, false);
    saving.Train();
    const Contents saved = saving.contents();
    ASSERT_EQ(saved.rows.size(), kTableRows);
    ASSERT_TRUE(saving.Save(folder + "/model").ok());
    const Status parts = saving.SaveParts(folder + "/parts", savers);
    ASSERT_TRUE(parts.ok()) << parts;
    for (const uint32_t loaders : {1u, 2u, 3u, 4u, 5u}) {
      for (const char* model : {"/model", "/parts"}) {
        Servers loading(StatefulConfig(), loaders, true);
        const Status loaded = loading.Load(folder + model);
        ASSERT_TRUE(loaded.ok()) << loaded;
        EXPECT_TRUE(loading.contents() == saved) << savers << " to " << loaders << model;
      }
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weir::server
