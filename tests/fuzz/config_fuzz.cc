// A config as text: what is wrong with it is said, and what is taken comes back from its own text.
#include <google/protobuf/stubs/logging.h>

#include <cstdlib>

#include "common/base/check.h"
#include "common/config/config_hash.h"
#include "common/config/load_config.h"
#include "common/config/validate_config.h"
#include "common/config/warnings.h"
#include "tests/fuzz/target.h"

namespace weir::fuzz {
namespace {

constexpr const char* kTexts[] = {
    R"(model { bottom_widths: [40, 4] top_widths: [3, 1] embedding_dimension: 4 }
data { synthetic { tables: 2 dense_features: 13 rows_per_table: 100 } batch_size: 128 }
update { dense { adam { learning_rate: 0.01 } } rows { rowwise_adagrad { learning_rate: 0.1 } } }
compression { default { dct { sparsity: 0.99 } } layer { name: "top/.*" policy { none {} } } }
)",
    R"(data { train: "a" test: "b" csv { header: true label { column: "y" }
  dense { column: "n" log1p {} standardise {} }
  categorical { column: "c" rows: 7 separator: "|" bucketise { boundaries: [-1, 2.5] } } } }
cluster { window: 4 durability: MACHINE concurrency_warmup_steps: 0 }
consistency { sync { trainers: 2 lost_trainer: STOP } }
run { seed: 3 evaluate_every_samples: 1000 checkpoint_every_ms: 5000 }
)",
    R"(data { criteo_tsv { rows_per_table: 1000 } }
pipeline { in_flight: 3 split { after: "bottom/1" dct_mp { sparsity: 0.7 } } }
schedule { omgs {} } # a comment
)",
    "data { libsvm { fields: 3 rows_per_table: 100 } } unknown: 1 run { seed: -1 }"};

void ReadInput(const std::string& text) {
  const auto config = config::LoadConfig({}, text);
  if (!config.ok()) {
    CHECK(!config.status().message().empty());
    return;
  }
  config::HashRun(*config);
  CHECK(config::ValidateConfig(*config).empty());
  config::ValidateEmbedded(*config);
  config::ValidateStage(*config, 1);
  config::Warnings(*config);
  const auto again = config::LoadConfig({}, config::ToText(*config));
  CHECK(again.ok()) << again.status();
  CHECK_EQ(config::ConfigHash(*again), config::ConfigHash(*config));
}

}  // namespace

std::vector<std::string> FuzzSeeds() { return {std::begin(kTexts), std::end(kTexts)}; }

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;  // it says each time why something does not parse
  weir::fuzz::ReadInput({data, data + size});
  return 0;
}
