// weir-data generate: the synthetic set as a Criteo click log.
//
// Thread rule: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <ostream>
#include <string>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "worker/data/reader.h"

namespace weir::tools {

struct GenerateOptions {
  std::string out;  // compressed when it ends in .gz
  data::Split split = data::Split::kTrain;
  int64_t row_limit = 0;  // of the split's first rows; 0: all
  const std::atomic<bool>* interrupted = nullptr;
};

// Writes the rows of config.data().synthetic() and tells how many they are, their click rate and
// their Bayes logloss. config: with defaults filled in and valid. InvalidConfig when it chooses no
// synthetic set, or one that Criteo's 13 integers and 26 categoricals cannot hold.
// Interrupted once that is set, and no file that is not whole.
Status Generate(const v1::Config& config, const GenerateOptions& options, std::ostream& out);

}  // namespace weir::tools
