#include "worker/push/step_encoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/compress/not_finite.h"
#include "common/config/policy_rules.h"

namespace weir::worker {
namespace {

void EncodeRows(const data::Batch& batch, const BatchRows& rows, RowEncoder* encoder,
                std::vector<session::BodyWriter>& writers, StepEncoder::Scratch* scratch) {
  const EncodeTimes::Rows timed(&scratch->layer.times);
  encoder->Encode(batch, rows, writers, &scratch->rows);
}

}  // namespace

StepEncoder::StepEncoder(const v1::Config& config, const ModelLayout& layout, uint32_t trainer,
                         const StageSpec& stage, const kernels::Compute& compute)
    : layout_(layout),
      agreeing_(layout, compute),
      rows_(config.compression(), layout, stage.has_interaction) {
  const uint64_t seed = KeyedHash(layout.seed(), RunStream::kPolicy, trainer);
  std::vector<compress::DeviceSelector::Layer> on_device;
  for (const TensorSpec& tensor :
       layout.tensors().subspan(stage.first_tensor, stage.end_tensor - stage.first_tensor)) {
    const v1::PolicyRule& rule = config::RuleForLayer(config.compression(), tensor.name);
    LayerEncoder& layer = *layers_.emplace_back(
        std::make_unique<LayerEncoder>(rule, layout, tensor, seed, compute.select != nullptr));
    const bool is_alone = !agreeing_.TryAdd(rule, &layer);
    if (is_alone) alone_.push_back(&layer);
    all_keep_residuals_ = all_keep_residuals_ && layer.policy().keeps_residual();
    if (is_alone && layer.is_on_device()) on_device.push_back(layer.ForDevice());
    if (!layer.is_on_device()) on_host_.push_back(&tensor);
  }
  agreeing_.Finish();
  if (on_device.empty()) return;
  selector_ = std::make_unique<compress::DeviceSelector>(compute, std::move(on_device),
                                                         layout.flat_element_count());
}

size_t StepEncoder::DeviceIndex(const LayerEncoder& layer) const {
  const auto end = std::ranges::find(alone_, &layer);
  return static_cast<size_t>(std::count_if(
      alone_.begin(), end, [](const LayerEncoder* other) { return other->is_on_device(); }));
}

compress::SquareSums StepEncoder::SquareSumsOf(const LayerEncoder& layer) const {
  compress::SquareSums squares = layer.square_sums();
  if (layer.is_on_device() && !layer.policy().agrees())
    squares.sums = selector_->SquareSumsOf(DeviceIndex(layer));
  return squares;
}

compress::SquareSumsOfTensors StepEncoder::square_sums() const {
  compress::SquareSumsOfTensors squares(layout_.tensors().size());
  bool is_asked = false;
  for (const auto& layer : layers_) {
    squares[layer->tensor().id] = SquareSumsOf(*layer);
    is_asked = is_asked || !squares[layer->tensor().id].sums.empty();
  }
  return is_asked ? squares : compress::SquareSumsOfTensors();
}

bool StepEncoder::MayWait(const data::Batch& batch) const {
  return all_keep_residuals_ && (batch.tables.empty() || rows_.keeps_rows());
}

Status StepEncoder::CheckFinite(std::span<const float> dense, uint32_t begin) const {
  for (const auto& layer : layers_) {
    const TensorSpec& tensor = layer->tensor();
    if (tensor.column_count > 1 || layer->is_on_device() || tensor.id < begin) continue;
    const std::span<const float> values = layer->GradientIn(dense);
    if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) continue;
    return compress::NotFinite(tensor.name);
  }
  return OkStatus();
}

Result<std::vector<session::Body>> StepEncoder::Encode(const Dense& dense, const data::Batch& batch,
                                                       const BatchRows& rows, Scratch* scratch) {
  const EncodeTimes::Step timed(&scratch->layer.times);
  WEIR_RETURN_IF_ERROR(CheckFinite(dense.on_host));
  WEIR_ASSIGN_OR_RETURN(const auto locks, agreeing_.ProposeAlone(dense));
  return Finish(dense, batch, rows, false, scratch);
}

Result<std::vector<session::Body>> StepEncoder::EncodePart(const Dense& dense, uint32_t begin,
                                                           Scratch* scratch) {
  const EncodeTimes::Step timed(&scratch->layer.times);
  WEIR_RETURN_IF_ERROR(CheckFinite(dense.on_host, begin));
  std::vector<session::BodyWriter> writers(layout_.server_count());
  for (LayerEncoder* const layer : alone_) {
    const TensorSpec& tensor = layer->tensor();
    if (tensor.id < begin || tensor.id >= dense.first_gone) continue;
    layer->Encode(layer->GradientIn(dense.on_host), writers, &scratch->layer);
  }
  std::vector<session::Body> bodies(writers.size());
  for (size_t i = 0; i < bodies.size(); ++i) writers[i].MoveTo(&bodies[i]);
  return bodies;
}

Result<std::vector<session::Body>> StepEncoder::Propose(const Dense& dense,
                                                        const compress::Turn& turn,
                                                        v1::Proposal* header) {
  WEIR_RETURN_IF_ERROR(CheckFinite(dense.on_host));
  return agreeing_.Propose(turn, dense, header);
}

Result<std::vector<session::Body>> StepEncoder::EncodeAgreed(
    const Dense& dense, const data::Batch& batch, const BatchRows& rows, const AgreedPieces& agreed,
    const v1::Agreement& words, Scratch* scratch) {
  const EncodeTimes::Step timed(&scratch->layer.times);
  agreeing_.Learn(agreed, words);
  return Finish(dense, batch, rows, true, scratch);
}

Result<std::vector<session::Body>> StepEncoder::Finish(const Dense& dense, const data::Batch& batch,
                                                       const BatchRows& rows, bool is_agreed,
                                                       Scratch* scratch) {
  WEIR_RETURN_IF_ERROR(agreeing_.Take(dense));
  if (selector_ != nullptr) {
    WEIR_RETURN_IF_ERROR(selector_->Select(*dense.stream, dense.on_device, &scratch->selection));
  }
  if (dense.once_taken != nullptr && *dense.once_taken) (*dense.once_taken)();
  auto dense_writers = scratch->dense_sizes.MakeWriters(layout_.server_count());
  auto row_writers = scratch->row_sizes.MakeWriters(layout_.server_count());
  if (selector_ != nullptr) WEIR_RETURN_IF_ERROR(scratch->selection.Await());
  EncodeLayers(dense, is_agreed, dense_writers, scratch);
  if (selector_ != nullptr) WEIR_RETURN_IF_ERROR(selector_->EndStep(scratch->selection));
  EncodeRows(batch, rows, &rows_, row_writers, scratch);
  scratch->dense_sizes.Remember(dense_writers);
  scratch->row_sizes.Remember(row_writers);
  std::vector<session::Body> bodies(layout_.server_count());
  for (size_t i = 0; i < bodies.size(); ++i) {
    dense_writers[i].MoveTo(&bodies[i]);
    row_writers[i].MoveTo(&bodies[i]);
  }
  return bodies;
}

void StepEncoder::EncodeLayers(const Dense& dense, bool is_agreed,
                               std::vector<session::BodyWriter>& writers, Scratch* scratch) {
  agreeing_.ForEach([&](LayerEncoder& layer, const compress::StepPlan& plan) {
    const std::span<const float> gradient = layer.GradientIn(dense.on_host);
    is_agreed ? layer.EncodeAgreed(plan, gradient, writers, &scratch->layer)
              : layer.EncodePlan(plan, gradient, writers, &scratch->layer);
  });
  scratch->agreed_bytes = 0;
  for (const auto& writer : writers) scratch->agreed_bytes += writer.byte_count();
  scratch->layers_seconds = 0;
  const Timed timed(&scratch->layers_seconds);
  size_t index = 0;  // among those on the device
  for (LayerEncoder* const layer : alone_) {
    if (layer->is_on_device()) {
      layer->EncodeSelected(scratch->selection, index, selector_->first_stripe(index), writers,
                            &scratch->layer);
      ++index;
    } else if (layer->tensor().id < dense.first_gone) {
      layer->Encode(layer->GradientIn(dense.on_host), writers, &scratch->layer);
    }
  }
}

Status StepEncoder::Accumulate(const Dense& dense, const data::Batch& batch,
                               const BatchRows& rows) {
  WEIR_RETURN_IF_ERROR(CheckFinite(dense.on_host));
  if (selector_ != nullptr) {
    WEIR_RETURN_IF_ERROR(selector_->Accumulate(*dense.stream, dense.on_device));
  }
  WEIR_RETURN_IF_ERROR(agreeing_.Accumulate(dense));
  rows_.Accumulate(batch, rows);
  for (const auto& layer : layers_) layer->Accumulate(layer->GradientIn(dense.on_host));
  return OkStatus();
}

void StepEncoder::FillReport(v1::WorkerReport* report) const {
  rows_.FillReport(report->mutable_rows());
  for (const auto& layer : layers_) layer->FillReport(report->add_layers());
}

}  // namespace weir::worker
