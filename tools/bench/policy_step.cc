#include "tools/bench/policy_step.h"

#include "common/base/check.h"
#include "common/config/defaults.h"
#include "common/kernels/cpu_kernels.h"
#include "tools/bench/measure.h"
#include "tools/bench/training_run.h"
#include "worker/embedded_client.h"

namespace weir::bench {
namespace {

v1::Config ConfigWith(int64_t batch_size, const v1::PolicyRule& rule) {
  v1::Config config = TrainingConfig(batch_size);
  *config.mutable_compression()->mutable_default_() = rule;
  config::FillDefaults(&config);
  return config;
}

}  // namespace

PolicyStep::PolicyStep(int64_t batch_size, const v1::PolicyRule& rule)
    : config_(ConfigWith(batch_size, rule)),
      layout_(config_, 1),
      encoder_(config_, layout_, 0),
      model_(layout_, kernels::CpuKernels(), encoder_.squared_tensors()),
      parameters_(static_cast<size_t>(layout_.flat_element_count())),
      gradients_(parameters_.size()),
      squares_(parameters_.size()) {
  data::MakeBatch(RandomRows(batch_size), 0, batch_size, &batch_);
  size_t row_count = 0;
  for (const data::TableIds& ids : batch_.tables) row_count += ids.unique.size();
  rows_.assign(row_count * static_cast<size_t>(layout_.embedding_dimension()), 0.01f);
  row_gradients_.resize(rows_.size());
  const worker::EmbeddedClient initial(config_, layout_);
  std::copy_n(initial.replica(), parameters_.size(), parameters_.data());
}

void PolicyStep::Train() {
  const auto loss = model_.Train(parameters_.data(), batch_, rows_, batch_.row_count,
                                 gradients_.data(), row_gradients_, squares_.data());
  CHECK(loss.ok()) << loss.status();
}

void PolicyStep::TrainAndEncode() {
  Train();
  const auto parts = encoder_.Encode({gradients_.span(), squares_.span()}, {}, {}, &scratch_);
  KeepAlive(parts.data());
}

}  // namespace weir::bench
