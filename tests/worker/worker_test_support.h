// A tiny run on synthetic data, for the tests of worker/.
#pragma once

#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "common/proto/config.pb.h"

namespace weir::worker {

// 2000 training rows in chunks of 8 batches of 20, 1000 test rows.
inline v1::Config TinyRun() {
  v1::Config config;
  for (const int32_t width : {16, 4}) config.mutable_model()->add_bottom_widths(width);
  for (const int32_t width : {16, 1}) config.mutable_model()->add_top_widths(width);
  config.mutable_model()->set_embedding_dimension(4);
  v1::DataConfig& data = *config.mutable_data();
  data.set_batch_size(20);
  data.set_chunk_batches(8);
  data.set_epochs(4);
  data.mutable_synthetic()->set_rows(2000);
  data.mutable_synthetic()->set_test_rows(1000);
  data.mutable_synthetic()->set_tables(4);
  data.mutable_synthetic()->set_dense_features(6);
  data.mutable_synthetic()->set_rows_per_table(20);
  config.mutable_update()->mutable_dense()->mutable_adagrad()->set_learning_rate(0.02);
  config::FillDefaults(&config);
  const std::vector<std::string> violations = config::ValidateConfig(config);
  CHECK(violations.empty()) << violations.front();
  return config;
}

}  // namespace weir::worker
