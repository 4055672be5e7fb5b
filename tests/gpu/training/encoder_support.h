// A small model with a policy, gradients for it, and what an encoder remembers.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/config/defaults.h"
#include "google/protobuf/text_format.h"
#include "worker/push/step_encoder.h"

namespace weir::test {

inline v1::Config ConfigWith(const std::string& compression) {
  v1::Config config;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      R"(model { bottom_widths: [700, 60, 4] top_widths: 1 embedding_dimension: 4 }
         data { synthetic { tables: 2 rows_per_table: 1000 } } compression { )" +
          compression + " }",
      &config));
  config::FillDefaults(&config);
  return config;
}

inline std::vector<float> RandomGradients(size_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.NextNormal());
  return values;
}

inline std::vector<std::pair<v1::PolicyStateHeader, Bytes>> StatesOf(
    const worker::StepEncoder& encoder) {
  std::vector<std::pair<v1::PolicyStateHeader, Bytes>> states;
  CHECK(encoder
            .SaveStates([&](const v1::PolicyStateHeader& header, ByteSpan state) {
              states.emplace_back(header, Bytes(state.begin(), state.end()));
              return OkStatus();
            })
            .ok());
  return states;
}

// Layer after layer, of policies that keep one.
inline std::vector<float> ResidualsOf(const worker::StepEncoder& encoder) {
  std::vector<float> residuals;
  for (const auto& [header, state] : StatesOf(encoder)) {
    ByteReader reader(state);
    const auto count = reader.Get<int64_t>();
    for (int64_t i = 0; i < count; ++i) residuals.push_back(reader.Get<float>());
    CHECK(reader.ok()) << header.name();
  }
  return residuals;
}

// What is kept of a layer, in a saved state: a count, and so many floats.
inline void AddResidual(const ModelLayout& layout, const std::string& name, ByteSpan state,
                        std::vector<double>* sums) {
  for (const TensorSpec& tensor : layout.tensors()) {
    if (tensor.name != name) continue;
    ByteReader reader(state);
    CHECK_EQ(reader.Get<int64_t>(), tensor.element_count());
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      (*sums)[static_cast<size_t>(tensor.offset + i)] += reader.Get<float>();
    }
  }
}

// Between two devices: times, sums in another order, and residuals, which nobody fetches from a
// card for a report.
inline void ClearWhatDiffers(v1::LayerReport* layer) {
  layer->clear_encode_seconds();
  layer->clear_discarded_l1();
  layer->clear_residual_norm();
  layer->clear_residual_workers();
}

}  // namespace weir::test
