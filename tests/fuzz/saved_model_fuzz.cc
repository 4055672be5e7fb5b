// A saved model, behind its checksums, which would stop nearly every damaged input: what
// weir-predict, a run that goes on from it, and weir-inspect make of it. The input is the length of
// a manifest, two bytes, its text, and frames, each behind its length.
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include "common/config/defaults.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/warm_start.h"
#include "common/saved_model/writer.h"
#include "common/store/update_rule.h"
#include "tests/common/wire/reseal.h"
#include "tests/fuzz/memory_folder.h"
#include "tests/fuzz/target.h"
#include "tools/inspect/saved_model_look.h"
#include "tools/model/loaded_model.h"

namespace weir::fuzz {
namespace {

using google::protobuf::TextFormat;

const v1::Config& RunConfig() {
  static const v1::Config run = [] {
    v1::Config config;
    CHECK(TextFormat::ParseFromString(R"(
        model { bottom_widths: [40, 4] top_widths: [3, 1] embedding_dimension: 4 }
        data { synthetic { tables: 2 dense_features: 13 rows_per_table: 100 } })",
                                      &config));
    config::FillDefaults(&config);
    return config;
  }();
  return run;
}

// Of what lies in the folder with it. What is none is as it was, behind its own checksum.
std::string FittedManifest(const std::string& text, ByteSpan parameters) {
  v1::SavedModelManifest manifest;
  if (!TextFormat::ParseFromString(text, &manifest)) return saved_model::WithChecksum(text + "\n");
  wire::Checksum checksum;
  checksum.Append(parameters);
  manifest.set_parameter_bytes(parameters.size());
  manifest.set_parameters_checksum(checksum.value());
  manifest.clear_parts();
  return saved_model::ManifestText(std::move(manifest));
}

void Use(const std::string& folder) {
  const auto loaded = tools::LoadedModel::Load(folder);
  std::ostringstream told;
  const Status inspected = tools::InspectSavedModel(folder, told);
  CHECK(!loaded.ok() || inspected.ok()) << inspected;
  const auto model = saved_model::SavedModel::Open(folder);
  if (!model.ok()) return;
  static const ModelLayout layout(RunConfig(), 2);
  const Status taken = TakeOver(
      **model, RunConfig(), layout,
      {.begin_rules = [](const v1::RuleStarts&) {},
       .start_rows = [](uint64_t) {},
       .piece =
           [](const PieceSpec& spec, std::span<const float> values, std::span<const float>) {
             CHECK_EQ(values.size(), static_cast<size_t>(spec.element_count));
           },
       .row =
           [](uint32_t table, uint64_t id, std::span<const float>, std::span<const float>) {
             CHECK_LT(id, static_cast<uint64_t>(layout.tables()[table].row_count));
           }});
  CHECK(taken.ok() || !taken.message().empty());
}

void ReadInput(ByteSpan input) {
  static const MemoryFolder folder;
  ByteReader reader(input);
  const size_t length = reader.Get<uint16_t>();
  const ByteSpan text = reader.GetSpan(std::min(length, reader.remaining()));
  Bytes parameters;
  while (reader.ok() && reader.remaining() > 0) {
    const size_t bytes = reader.Get<uint16_t>();
    const ByteSpan span = reader.GetSpan(std::min(bytes, reader.remaining()));
    Bytes frame(span.begin(), span.end());
    wire::Reseal(&frame);
    parameters.insert(parameters.end(), frame.begin(), frame.end());
  }
  const std::string manifest = FittedManifest({text.begin(), text.end()}, parameters);
  folder.Write(saved_model::kManifestFile, AsBytes(manifest));
  folder.Write(saved_model::kParametersFile, parameters);
  Use(folder.path());
}

Bytes FramesOfModel(const ModelLayout& layout) {
  Bytes frames;
  for (const PieceSpec& spec : layout.pieces()) {
    const std::vector<float> values(static_cast<size_t>(spec.element_count), 0.5f);
    saved_model::AppendPiece(spec, values, values, &frames);
  }
  const auto rule = store::MakeUpdateRule(RunConfig().update().rows());
  store::RowPartitionStore rows(layout, *rule);
  for (uint64_t id = 0; id < 100; id += 33) {
    rows.Load(1, id, std::vector<float>(4, 0.25f), std::vector<float>{5});
  }
  CHECK_EQ(saved_model::AppendRows(0, 77, &rows, &frames), 0u);
  return frames;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  v1::SavedModelManifest manifest;
  *manifest.mutable_config() = RunConfig();
  manifest.set_steps(77);
  manifest.set_id(5);
  std::string text;
  CHECK(TextFormat::PrintToString(manifest, &text));
  Bytes input;
  ByteWriter writer(input);
  writer.Put(static_cast<uint16_t>(text.size()));
  writer.PutRaw(text.data(), text.size());
  const Bytes frames = FramesOfModel(ModelLayout(RunConfig(), 1));
  for (wire::FrameCursor cursor(frames); !cursor.done();) {
    const wire::FrameView frame = cursor.Next().value();
    CHECK_LE(frame.frame_bytes(), std::numeric_limits<uint16_t>::max());
    writer.Put(static_cast<uint16_t>(frame.frame_bytes()));
    writer.PutRaw(frame.payload.data() - frame.header_bytes, frame.frame_bytes());
  }
  return {std::string(input.begin(), input.end())};
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;  // it says each time why something does not parse
  FLAGS_minloglevel = google::GLOG_FATAL;
  weir::fuzz::ReadInput({data, size});
  return 0;
}
