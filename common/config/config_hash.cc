#include "common/config/config_hash.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <array>
#include <cstdio>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"

namespace weir::config {
namespace {

// FNV-1a, finished with a mix because FNV hardly spreads the last bytes.
uint64_t HashBytes(const std::string& bytes) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3ULL;
  }
  return Mix64(hash);
}

uint64_t HashMessage(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    CHECK(message.SerializeToCodedStream(&coded));
  }
  return HashBytes(bytes);
}

uint64_t HashReader(const v1::DataConfig& data) {
  v1::DataConfig reader;
  if (data.has_criteo_tsv()) *reader.mutable_criteo_tsv() = data.criteo_tsv();
  if (data.has_synthetic()) *reader.mutable_synthetic() = data.synthetic();
  if (data.has_csv()) *reader.mutable_csv() = data.csv();
  if (data.has_libsvm()) *reader.mutable_libsvm() = data.libsvm();
  return HashMessage(reader);
}

uint64_t HashSplits(v1::PipelineConfig pipeline) {
  pipeline.clear_in_flight();  // the first stage's affair
  return HashMessage(pipeline);
}

uint64_t HashCuts(const v1::DataConfig& data) {
  const int64_t chunk_lines = int64_t{data.batch_size()} * data.chunk_batches();
  return KeyedHash(1, chunk_lines, data.test().empty(), data.epochs(), data.shuffle());
}

uint64_t HashAgreement(const v1::Config& config) {
  return KeyedHash(HashCuts(config.data()), config.cluster().max_message_bytes(),
                   config.consistency().has_sync());
}

}  // namespace

uint64_t HashPlaces(const v1::DataConfig& data) {
  return KeyedHash(HashReader(data), HashCuts(data));
}

RunHashes HashRun(const v1::Config& config) {
  return {
      .model = KeyedHash(HashMessage(config.model()), config.run().seed()),
      .data = HashReader(config.data()),
      .update = HashMessage(config.update()),
      .pipeline = HashSplits(config.pipeline()),
      .agreement = HashAgreement(config),
  };
}

std::string DescribeMismatch(const RunHashes& ours, const RunHashes& theirs) {
  std::vector<std::string> parts;
  if (ours.model != theirs.model) parts.emplace_back("the model (model, run.seed)");
  if (ours.data != theirs.data)
    parts.emplace_back("the reader (data.criteo_tsv, csv, libsvm or synthetic)");
  if (ours.update != theirs.update) parts.emplace_back("the update rules (update)");
  if (ours.agreement != theirs.agreement) {
    parts.emplace_back(
        "how the input is lent out or what messages may hold (data.batch_size * "
        "data.chunk_batches, data.epochs, data.shuffle, whether there is data.test, "
        "cluster.max_message_bytes, consistency)");
  }
  if (ours.pipeline != theirs.pipeline) parts.emplace_back("the stages (pipeline.split)");
  return parts.empty() ? "" : StrCat("the configs differ in ", StrJoin(parts, ", "));
}

std::string ConfigHash(const v1::Config& config) {
  std::array<char, 17> digits;
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(HashMessage(config)));
  return digits.data();
}

}  // namespace weir::config
