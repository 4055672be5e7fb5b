#include "tools/model/loaded_model.h"

#include <algorithm>
#include <utility>

#include "common/kernels/cpu_kernels.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/warm_start.h"

namespace weir::tools {
namespace {

const kernels::KernelTable& Kernels(const v1::Config& config) {
  return config.model().precision() == v1::ModelConfig::BF16 ? kernels::CpuBf16Kernels()
                                                             : kernels::CpuKernels();
}

}  // namespace

Result<std::unique_ptr<LoadedModel>> LoadedModel::Load(const std::string& directory) {
  WEIR_ASSIGN_OR_RETURN(auto saved, saved_model::SavedModel::Open(directory));
  std::unique_ptr<LoadedModel> model(new LoadedModel(std::move(saved)));
  WEIR_RETURN_IF_ERROR(model->LoadParameters());
  return model;
}

LoadedModel::LoadedModel(std::unique_ptr<saved_model::SavedModel> saved)
    : saved_(std::move(saved)),
      row_rule_(store::MakeUpdateRule(config().update().rows())),
      parameters_(static_cast<size_t>(layout().flat_element_count())),
      rows_(layout(), *row_rule_),
      dlrm_(layout(), Kernels(config())) {}

Status LoadedModel::LoadParameters() {
  return saved_model::TakeOver(
      *saved_, config(), layout(),
      {.goes_on = false,
       .begin_rules = [&](const v1::RuleStarts& starts) { row_rule_->BeginAfter(starts.rows()); },
       .start_rows = [&](uint64_t step) { rows_.StartAt(step); },
       .piece =
           [&](const PieceSpec& spec, std::span<const float> values, std::span<const float>) {
             const TensorSpec& tensor = layout().tensors()[spec.tensor];
             const auto first = static_cast<size_t>(tensor.offset + spec.begin);
             std::ranges::copy(values, parameters_.span().subspan(first).begin());
           },
       .row = [&](uint32_t table, uint64_t id, std::span<const float> values,
                  std::span<const float> state) { rows_.Load(table, id, values, state); }});
}

void LoadedModel::Score(const data::Batch& batch, std::span<float> probabilities) {
  wanted_.clear();
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    for (const uint64_t id : batch.tables[t].unique) {
      const auto position = static_cast<uint32_t>(wanted_.size());
      wanted_.push_back({static_cast<uint32_t>(t), position, id});
    }
  }
  batch_rows_.resize(wanted_.size() * static_cast<size_t>(layout().embedding_dimension()));
  rows_.ReadBatchOrInitial(wanted_, saved_model::RowSteps(manifest()), batch_rows_);
  dlrm_.Score(parameters_.data(), batch, batch_rows_, probabilities,
              model::Dlrm::Crossing::kOfSampleAlone);
}

std::span<const float> LoadedModel::tensor(const TensorSpec& tensor) const {
  return parameters_.span().subspan(static_cast<size_t>(tensor.offset),
                                    static_cast<size_t>(tensor.element_count()));
}

void LoadedModel::ReadRow(uint32_t table, uint64_t id, std::span<float> out) const {
  rows_.ReadOrInitial(table, id, saved_model::RowSteps(manifest()), out);
}

}  // namespace weir::tools
