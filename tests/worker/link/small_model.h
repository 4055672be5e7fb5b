// The smallest model that two servers share, for the tests of worker/link.
#pragma once

#include "common/config/defaults.h"
#include "common/proto/config.pb.h"

namespace weir::worker {

inline v1::Config SmallModel() {
  v1::Config config;
  for (const int32_t width : {8, 4}) config.mutable_model()->add_bottom_widths(width);
  config.mutable_model()->add_top_widths(1);
  config.mutable_model()->set_embedding_dimension(4);
  config.mutable_data()->mutable_synthetic()->set_rows(10);
  config::FillDefaults(&config);
  return config;
}

}  // namespace weir::worker
