#include "tools/model/loaded_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/device/cpu_device.h"
#include "common/saved_model/manifest.h"
#include "worker/model/kernels_for.h"

namespace weir::tools {
namespace {

// Of the values alone.
size_t RowBytes(const ModelLayout& layout) {
  return static_cast<size_t>(layout.embedding_dimension()) * sizeof(float);
}

// Every element has its four bytes in the files: what these cannot hold gets no memory.
Status CheckHolds(const saved_model::SavedModel& saved) {
  const auto count = static_cast<uint64_t>(saved.layout().flat_element_count());
  const uint64_t bytes = saved.manifest().parameter_bytes();
  if (count <= bytes / sizeof(float)) return OkStatus();
  return InvalidData(StrCat(saved.directory(), " has ", bytes, " bytes of parameters, too few for ",
                            count, " of its MLPs; the model is incomplete: copy the whole folder ",
                            "again"));
}

}  // namespace

Result<std::unique_ptr<LoadedModel>> LoadedModel::Load(const std::string& directory) {
  WEIR_ASSIGN_OR_RETURN(auto saved, saved_model::SavedModel::Open(directory));
  WEIR_RETURN_IF_ERROR(CheckHolds(*saved));
  std::unique_ptr<LoadedModel> model(new LoadedModel(std::move(saved)));
  WEIR_RETURN_IF_ERROR(model->LoadParameters());
  return model;
}

LoadedModel::LoadedModel(std::unique_ptr<saved_model::SavedModel> saved)
    : saved_(std::move(saved)),
      row_rule_(store::MakeUpdateRule(config().update().rows())),
      parameters_(static_cast<size_t>(layout().flat_element_count())),
      rows_(manifest().parameter_bytes() / RowBytes(layout())),
      unseen_(layout(), *row_rule_),
      dlrm_(layout(), model::CpuComputeFor(config().model())) {}

Status LoadedModel::LoadParameters() {
  row_rule_->BeginAfter(manifest().rule_starts().rows());
  unseen_.StartAt(manifest().rule_starts().untouched_rows());
  WEIR_RETURN_IF_ERROR(saved_->Visit(
      {.keeps_rows = true,
       .piece =
           [&](const saved_model::SavedPiece& piece) {
             const TensorSpec& tensor = layout().tensors()[piece.tensor];
             const auto first = static_cast<size_t>(tensor.offset + piece.begin);
             std::ranges::copy(piece.values, parameters_.span().subspan(first).begin());
           },
       .rows = [&](const saved_model::SavedRows& rows) { rows_.Add(rows); }}));
  return rows_.Finish();
}

void LoadedModel::Score(const data::Batch& batch, std::span<float> probabilities) {
  wanted_.clear();
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    for (const uint64_t id : batch.tables[t].unique) {
      const auto position = static_cast<uint32_t>(wanted_.size());
      wanted_.push_back({static_cast<uint32_t>(t), position, id});
    }
  }
  const auto dimension = static_cast<size_t>(layout().embedding_dimension());
  batch_rows_.resize(wanted_.size() * dimension);
  rows_.FindBatch(wanted_, &places_);
  for (size_t i = 0; i < wanted_.size(); ++i) {
    ReadAt(places_[i], wanted_[i].table, wanted_[i].id,
           std::span(batch_rows_).subspan(i * dimension, dimension));
  }
  const Status scored =
      dlrm_.Score(device::CpuStream(), device::OnCpu<const float>(parameters_.data()), batch,
                  device::OnCpu(std::span<const float>(batch_rows_)), probabilities,
                  model::Dlrm::Crossing::kOfSampleAlone);
  CHECK(scored.ok()) << scored;  // the CPU's streams do not fail
}

std::span<const float> LoadedModel::tensor(const TensorSpec& tensor) const {
  return parameters_.span().subspan(static_cast<size_t>(tensor.offset),
                                    static_cast<size_t>(tensor.element_count()));
}

void LoadedModel::ReadRow(uint32_t table, uint64_t id, std::span<float> out) const {
  ReadAt(rows_.Find(table, id), table, id, out);
}

void LoadedModel::ReadAt(const uint8_t* place, uint32_t table, uint64_t id,
                         std::span<float> out) const {
  const uint64_t step = saved_model::RowSteps(manifest());
  if (place == nullptr) return unseen_.ReadOrInitial(table, id, step, out);
  std::memcpy(out.data(), place, out.size_bytes());
  if (!row_rule_->moves_at_rest()) return;
  std::vector<float> state(static_cast<size_t>(row_rule_->StatePerRow(std::ssize(out))));
  std::memcpy(state.data(), place + out.size_bytes(), state.size() * sizeof(float));
  row_rule_->CatchUp(out, state, step);
}

}  // namespace weir::tools
