#include "common/config/warnings.h"

#include <algorithm>
#include <cstdint>

#include "common/base/strings.h"

namespace weir::config {
namespace {

// Between two evaluations whole chunks are trained.
void WarnOfEvaluations(const v1::Config& config, std::vector<std::string>* warnings) {
  const int64_t every = config.run().evaluate_every_samples();
  const int64_t batch_size = config.data().batch_size();
  const int64_t chunk_rows = batch_size * config.data().chunk_batches();
  if (every == 0 || every >= chunk_rows) return;
  warnings->push_back(StrCat(
      "run.evaluate_every_samples: ", every, " is less than a chunk, data.batch_size * ",
      "data.chunk_batches = ", chunk_rows, " rows, so test rows are scored after every chunk, and ",
      "one chunk is trained at a time; set data.chunk_batches to ",
      std::max<int64_t>(1, every / batch_size), " or evaluate less often"));
}

void WarnOfUnreadFiles(const v1::DataConfig& data, std::vector<std::string>* warnings) {
  if (!data.has_synthetic() || data.train_size() + data.test_size() == 0) return;
  warnings->push_back(
      "the files of data.train and data.test are not read: data.synthetic makes rows up; to read "
      "them choose a reader, for example csv { ... }");
}

}  // namespace

std::vector<std::string> Warnings(const v1::Config& config) {
  std::vector<std::string> warnings;
  WarnOfEvaluations(config, &warnings);
  WarnOfUnreadFiles(config.data(), &warnings);
  return warnings;
}

}  // namespace weir::config
