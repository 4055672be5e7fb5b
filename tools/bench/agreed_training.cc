#include "tools/bench/agreed_training.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/compress/host_range_select.h"
#include "common/compress/policy_table.h"
#include "common/config/defaults.h"
#include "common/device/cpu_device.h"
#include "tools/bench/dlrm_shape.h"
#include "tools/bench/training_run.h"
#include "worker/data/synthetic.h"
#include "worker/model/kernels_for.h"

namespace weir::bench {
namespace {

constexpr int64_t kManyRows = int64_t{1} << 40;  // no run comes to their end

// A chunk is a batch for each trainer.
v1::Config ConfigFor(uint32_t trainers, int64_t batch_size) {
  v1::Config config = TrainingConfig(batch_size);
  config.mutable_data()->set_chunk_batches(static_cast<int32_t>(trainers));
  config.mutable_data()->mutable_synthetic()->set_rows(kManyRows);
  return config;
}

std::unique_ptr<const compress::Policy> PolicyOf(v1::PolicyRule rule) {
  config::FillDefaults(&rule);
  return compress::MakePolicy(rule);
}

}  // namespace

AgreedTraining::AgreedTraining(const v1::PolicyRule& rule, uint32_t trainers, int64_t batch_size)
    : batch_size_(batch_size),
      config_(ConfigFor(trainers, batch_size)),
      layout_(config_, 1),
      policy_(PolicyOf(rule)),
      client_(config_, layout_),
      model_(layout_, model::CpuComputeFor(config_.model())),
      gradients_(static_cast<size_t>(layout_.flat_element_count())),
      mean_(gradients_.size()),
      nothing_(gradients_.size()),
      rows_(static_cast<size_t>(batch_size * kTables * layout_.embedding_dimension())) {
  for (uint32_t i = 0; i < trainers; ++i) AddTrainer();
}

void AgreedTraining::AddTrainer() {
  Trainer& trainer = trainers_.emplace_back();
  std::vector<int64_t> sizes;
  for (const TensorSpec& tensor : layout_.tensors()) {
    sizes.push_back(tensor.element_count());
    trainer.states.push_back(
        policy_->MakeState({.tensor = tensor.id, .element_count = tensor.element_count()}));
    trainer.residuals.push_back(policy_->residual(*trainer.states.back()));
  }
  trainer.ranges = std::make_unique<compress::HostRangeSelect>(trainer.residuals);
  trainer.proposer = policy_->MakeProposer(sizes);
  CHECK(trainer.proposer != nullptr) << policy_->name();
  trainer.row_gradients = tensor::AlignedBuffer(rows_.size());
}

Result<double> AgreedTraining::Compute(const data::RowBlock& rows, size_t rank) {
  Trainer& trainer = trainers_[rank];
  const int64_t begin = static_cast<int64_t>(rank) * batch_size_;
  data::MakeBatch(rows, begin, begin + batch_size_, &trainer.batch);
  size_t unique_count = 0;
  for (const data::TableIds& ids : trainer.batch.tables) unique_count += ids.unique.size();
  trainer.row_elements = unique_count * static_cast<size_t>(layout_.embedding_dimension());
  const std::span<float> values = rows_.span().first(trainer.row_elements);
  const std::span<float> gradients = trainer.row_gradients.span().first(trainer.row_elements);
  trainer.pull = client_.PullRows(trainer.batch, /*read_only=*/false);
  WEIR_RETURN_IF_ERROR(client_.AwaitRows(trainer.pull.get(), values));
  // Of the mean over all batches, so that what trainers take has only to be added.
  return model_.Train(device::CpuStream(), client_.replica(), trainer.batch,
                      device::OnCpu(std::span<const float>(values)),
                      batch_size_ * std::ssize(trainers_),
                      {device::OnCpu(gradients_.data()), device::OnCpu(gradients), {}});
}

void AgreedTraining::Propose(size_t rank) {
  Trainer& trainer = trainers_[rank];
  for (const TensorSpec& tensor : layout_.tensors()) {
    const auto gradient = gradients_.span().subspan(static_cast<size_t>(tensor.offset),
                                                    static_cast<size_t>(tensor.element_count()));
    policy_->BeginStep(*trainer.states[tensor.id], gradient);
  }
  trainer.proposer->Propose({.step = step_,
                             .rank = static_cast<uint32_t>(rank),
                             .world = static_cast<uint32_t>(trainers_.size())},
                            *trainer.ranges, &trainer.proposal);
}

std::vector<std::vector<uint32_t>> AgreedTraining::Union() const {
  std::vector<std::vector<uint32_t>> all(layout_.tensors().size());
  for (size_t tensor = 0; tensor < all.size(); ++tensor) {
    for (const Trainer& trainer : trainers_) {
      const std::vector<uint32_t>& more = trainer.proposal.indexes[tensor];
      all[tensor].insert(all[tensor].end(), more.begin(), more.end());
    }
    std::ranges::sort(all[tensor]);
    all[tensor].erase(std::unique(all[tensor].begin(), all[tensor].end()), all[tensor].end());
  }
  return all;
}

void AgreedTraining::Take(const std::vector<std::vector<uint32_t>>& agreed) {
  std::ranges::fill(mean_.span(), 0.0f);
  for (const TensorSpec& tensor : layout_.tensors()) {
    float* const mean = mean_.data() + tensor.offset;
    for (Trainer& trainer : trainers_) {
      auto next = agreed[tensor.id].begin();
      const auto end = agreed[tensor.id].end();
      trainer.residuals[tensor.id]->ForEachStripe([&](int64_t first, std::span<float> values) {
        for (; next != end && *next < first + std::ssize(values); ++next) {
          mean[*next] += std::exchange(values[static_cast<size_t>(*next - first)], 0.0f);
        }
      });
      CHECK(next == end) << "an index that is none of tensor " << tensor.name;
    }
  }
}

void AgreedTraining::Learn(uint64_t union_count) {
  const auto world = static_cast<uint32_t>(trainers_.size());
  std::vector<ByteSpan> notes;
  for (const Trainer& trainer : trainers_) notes.emplace_back(trainer.proposal.note);
  for (uint32_t rank = 0; rank < world; ++rank) {
    const compress::Turn turn = {.step = step_, .rank = rank, .world = world};
    const Bytes& word = trainers_[turn.leader()].proposal.word;
    trainers_[rank].proposer->Learn(turn,
                                    {.union_count = union_count, .word = word, .notes = notes});
  }
}

// Each batch's rows; the dense part with the first of them.
Status AgreedTraining::Apply() {
  for (Trainer& trainer : trainers_) {
    worker::StepGradients step;
    step.batch = &trainer.batch;
    step.pull = trainer.pull.get();
    step.dense = device::OnCpu(&trainer == &trainers_[0] ? mean_.span() : nothing_.span());
    step.rows = trainer.row_gradients.span().first(trainer.row_elements);
    WEIR_RETURN_IF_ERROR(client_.Push(step).status());
  }
  return OkStatus();
}

double AgreedTraining::ResidualNorm() const {
  double sum = 0;
  for (const Trainer& trainer : trainers_) {
    double squares = 0;
    for (compress::Residual* const residual : trainer.residuals) {
      squares += std::pow(residual->Norm(), 2);
    }
    sum += std::sqrt(squares);
  }
  return sum / static_cast<double>(trainers_.size());
}

Result<AgreedTraining::Round> AgreedTraining::Next() {
  if (!reader_) {
    WEIR_ASSIGN_OR_RETURN(reader_, data::MakeSyntheticReader(config_));
  }
  data::RowBlock rows;
  WEIR_RETURN_IF_ERROR(reader_->ReadChunk({.chunk = static_cast<int64_t>(step_)}, &rows).status());
  Round round;
  for (size_t rank = 0; rank < trainers_.size(); ++rank) {
    WEIR_ASSIGN_OR_RETURN(const double logloss, Compute(rows, rank));
    round.logloss += logloss / static_cast<double>(rows.row_count());
    Propose(rank);
    int64_t& proposed = round.proposed.emplace_back();
    for (const auto& layer : trainers_[rank].proposal.indexes) proposed += std::ssize(layer);
  }
  round.threshold = trainers_[0].proposer->threshold();
  const std::vector<std::vector<uint32_t>> agreed = Union();
  for (const auto& layer : agreed) round.union_count += std::ssize(layer);
  Take(agreed);
  Learn(static_cast<uint64_t>(round.union_count));
  round.residual_norm = ResidualNorm();
  ++step_;
  WEIR_RETURN_IF_ERROR(Apply());
  return round;
}

}  // namespace weir::bench
