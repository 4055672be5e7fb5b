// A config of which a test says one section, with defaults filled in.
#pragma once

#include <string>

#include "common/base/check.h"
#include "common/config/defaults.h"
#include "google/protobuf/text_format.h"

namespace weir::config {

inline v1::Config WithSection(const std::string& text) {
  v1::Config config;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      "data { synthetic {} } update { dense { sgd { learning_rate: 0.1 } } rows { sgd { "
      "learning_rate: 0.1 } } } " +
          text,
      &config));
  FillDefaults(&config);
  return config;
}

}  // namespace weir::config
