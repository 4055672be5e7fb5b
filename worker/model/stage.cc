#include "worker/model/stage.h"

#include "common/base/check.h"
#include "common/base/strings.h"
#include "worker/model/finite.h"

namespace weir::model {
namespace {

template <typename T>
std::span<const T> Part(std::span<const T> layers, const LayerRange& range) {
  return layers.subspan(range.begin, range.size());
}

}  // namespace

Stage::Stage(const ModelLayout& layout, const StageSpec& spec, const kernels::Compute& compute,
             int64_t max_samples, const compress::SquareSumsOfTensors& squares)
    : layout_(&layout),
      kernels_(compute.kernels),
      spec_(spec),
      is_first_(spec.first_tensor == 0),
      output_(MakeActivations(*compute.device, spec.output_width, max_samples)),
      output_gradient_(MakeActivations(*compute.device, spec.output_width, max_samples)) {
  if (!spec.bottom.empty()) {
    bottom_.emplace(layout, Part(layout.bottom_weights(), spec.bottom),
                    Part(layout.bottom_activations(), spec.bottom), compute, max_samples, squares);
  }
  if (spec.has_interaction) interaction_.emplace(layout, compute, max_samples);
  if (!spec.top.empty()) {
    top_.emplace(layout, Part(layout.top_weights(), spec.top),
                 Part(layout.top_activations(), spec.top), compute, max_samples, squares);
  }
  if (interaction_ && !bottom_) return;  // it has buffers of its own for what comes in
  input_ = MakeActivations(*compute.device, spec.input_width, max_samples);
  if (!is_first_) input_gradient_ = MakeActivations(*compute.device, spec.input_width, max_samples);
}

kernels::DeviceMatrix Stage::input(const Slice& slice) {
  if (interaction_ && !bottom_) return interaction_->bottom_output(slice);
  return SliceOf(input_, spec_.input_width, slice);
}

kernels::DeviceMatrix Stage::input_gradient(const Slice& slice) {
  if (interaction_ && !bottom_) return interaction_->bottom_gradient(slice);
  // Nobody needs that of the dense features.
  if (is_first_) return {};
  return SliceOf(input_gradient_, spec_.input_width, slice);
}

kernels::DeviceMatrix Stage::BottomOutput(const Slice& slice) {
  return interaction_ ? interaction_->bottom_output(slice) : output(slice);
}

kernels::DeviceMatrix Stage::BottomGradient(const Slice& slice) {
  return interaction_ ? interaction_->bottom_gradient(slice) : output_gradient(slice);
}

kernels::DeviceMatrix Stage::TopInput(const Slice& slice) {
  return interaction_ ? interaction_->output(slice) : input(slice);
}

kernels::DeviceMatrix Stage::TopInputGradient(const Slice& slice) {
  return interaction_ ? interaction_->output_gradient(slice) : input_gradient(slice);
}

void Stage::Forward(device::Stream& stream, device::Pointer<const float> parameters,
                    const DeviceBatch& batch, const Slice& slice, device::Span<const float> rows) {
  if (spec_.reads_dense()) kernels_->transpose(stream, DenseRows(batch, slice), input(slice));
  if (bottom_) bottom_->Forward(stream, parameters, slice, input(slice), BottomOutput(slice));
  if (interaction_) interaction_->Forward(stream, batch, slice, rows);
  if (top_) top_->Forward(stream, parameters, slice, TopInput(slice), output(slice));
}

void Stage::Backward(device::Stream& stream, device::Pointer<const float> parameters,
                     const DeviceBatch& batch, const Slice& slice,
                     const GradientBuffers& gradients) {
  const bool accumulate = slice.begin > 0;
  GradientListener* const listener =
      IsLast(slice, batch.row_count()) ? gradients.listener : nullptr;
  if (top_) {
    top_->Backward(stream, parameters, slice, TopInput(slice), output(slice),
                   output_gradient(slice), TopInputGradient(slice), accumulate, gradients.dense,
                   listener);
  }
  if (interaction_) {
    interaction_->Backward(stream, batch, slice, gradients.rows, gradients.row_squares);
    if (listener != nullptr) listener->OnRows(stream);
  }
  if (bottom_) {
    bottom_->Backward(stream, parameters, slice, input(slice), BottomOutput(slice),
                      BottomGradient(slice), input_gradient(slice), accumulate, gradients.dense,
                      listener);
  }
}

void Stage::TellWhole(device::Stream& stream, GradientListener* listener) const {
  if (top_) top_->TellWhole(stream, listener);
  if (interaction_) listener->OnRows(stream);
  if (bottom_) bottom_->TellWhole(stream, listener);
}

void TellWhole(std::span<const Stage> stages, device::Stream& stream, GradientListener* listener) {
  if (listener == nullptr) return;
  for (size_t i = stages.size(); i-- > 0;) stages[i].TellWhole(stream, listener);
}

std::string Stage::FirstNonFinite(device::Stream& stream, device::Pointer<const float> parameters,
                                  const DeviceBatch& batch, const Slice& slice,
                                  device::Span<const float> rows) {
  if (spec_.reads_dense() && !AllFinite(stream, DenseRows(batch, slice)))
    return "the dense features";
  std::string name;
  if (bottom_) name = bottom_->FirstNonFinite(stream, parameters, slice, BottomOutput(slice));
  if (name.empty() && interaction_) name = FirstNonFiniteTable(stream, batch.host(), rows);
  if (name.empty() && interaction_ && !AllFinite(stream, interaction_->output(slice))) {
    name = "the output of the interaction";
  }
  if (name.empty() && top_) name = top_->FirstNonFinite(stream, parameters, slice, output(slice));
  return name;
}

std::string Stage::FirstNonFiniteTable(device::Stream& stream, const data::Batch& batch,
                                       device::Span<const float> rows) const {
  const auto dimension = static_cast<size_t>(layout_->embedding_dimension());
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    const size_t element_count = batch.tables[t].unique.size() * dimension;
    if (!AllFinite(stream, rows.first(element_count))) {
      return StrCat("table/", layout_->tables()[t].name);
    }
    rows = rows.subspan(element_count, rows.size - element_count);
  }
  return "";
}

}  // namespace weir::model
