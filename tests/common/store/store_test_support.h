// Small layouts and rules for the tests of common/store.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/config/defaults.h"
#include "common/layout/model_layout.h"
#include "common/store/update_rule.h"
#include "google/protobuf/text_format.h"

namespace weir::store {

struct LayoutOptions {
  std::vector<int32_t> bottom_widths = {700, 4};
  int32_t dimension = 4;
  int32_t tables = 3;
  int64_t rows_per_table = int64_t{1} << 48;
  uint64_t seed = 7;
};

inline ModelLayout MakeLayout(const LayoutOptions& options) {
  v1::Config config;
  for (const int32_t width : options.bottom_widths)
    config.mutable_model()->add_bottom_widths(width);
  config.mutable_model()->add_top_widths(1);
  config.mutable_model()->set_embedding_dimension(options.dimension);
  v1::SyntheticConfig* synthetic = config.mutable_data()->mutable_synthetic();
  synthetic->set_tables(options.tables);
  synthetic->set_dense_features(13);
  synthetic->set_rows_per_table(options.rows_per_table);
  config.mutable_run()->set_seed(options.seed);
  return {config, 1};
}

inline v1::UpdateRule RuleConfig(std::string_view name, double learning_rate,
                                 double initial_accumulator = 0, double epsilon = 1e-10) {
  v1::UpdateRule config;
  if (name == "sgd") {
    config.mutable_sgd()->set_learning_rate(learning_rate);
    return config;
  }
  v1::AdagradRule* adagrad =
      name == "adagrad" ? config.mutable_adagrad() : config.mutable_rowwise_adagrad();
  adagrad->set_learning_rate(learning_rate);
  adagrad->set_initial_accumulator(initial_accumulator);
  adagrad->set_epsilon(epsilon);
  return config;
}

// From the text of an update rule, its defaults filled in.
inline std::unique_ptr<UpdateRule> MakeRule(const std::string& text) {
  v1::Config config;
  CHECK(
      google::protobuf::TextFormat::ParseFromString(text, config.mutable_update()->mutable_dense()))
      << text;
  config::FillDefaults(&config);
  return MakeUpdateRule(config.update().dense());
}

inline std::unique_ptr<UpdateRule> MakeRule(std::string_view name, double learning_rate) {
  return MakeUpdateRule(RuleConfig(name, learning_rate));
}

// Of each rule, with and without steps at rest.
inline constexpr const char* kRulesOfRows[] = {
    "sgd { learning_rate: 0.1 }",
    "sgd { learning_rate: 0.1 } weight_decay: 0.01 l2_penalty: 0.01",
    "momentum { learning_rate: 0.1 }",
    "adagrad { learning_rate: 0.1 initial_accumulator: 0.25 } schedule { warmup_steps: 20 }",
    "rowwise_adagrad { learning_rate: 0.1 }",
    "rowwise_adagrad { learning_rate: 0.1 } weight_decay: 0.01",
    "adam { learning_rate: 0.1 } weight_decay: 0.01 schedule { warmup_steps: 20 }",
};

inline std::vector<std::string> NamesOfAllRules() {
  const auto& rules = *v1::UpdateRule::descriptor()->FindOneofByName("rule");
  std::vector<std::string> names;
  for (int i = 0; i < rules.field_count(); ++i) names.push_back(rules.field(i)->name());
  return names;
}

// For state, of which a float may be a number of steps, and so a NaN.
inline std::vector<uint32_t> BitsIn(std::span<const float> values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

inline std::vector<float> RandomVector(RandomStream& random, size_t size) {
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.NextNormal());
  return values;
}

}  // namespace weir::store
