#include "common/layout/stage_cut.h"

#include <algorithm>

#include "common/base/check.h"

namespace weir {
namespace {

// Layers [begin, end), counted through both MLPs.
StageSpec MakeStage(const ModelShape& shape, size_t begin, size_t end) {
  const size_t bottom_count = shape.bottom_weights().size();
  StageSpec stage;
  stage.bottom = {std::min(begin, bottom_count), std::min(end, bottom_count)};
  stage.top = {std::max(begin, bottom_count) - bottom_count,
               std::max(end, bottom_count) - bottom_count};
  stage.has_interaction = stage.top.begin == 0 && !stage.top.empty();
  // A layer's weight and bias follow one another.
  stage.first_tensor = static_cast<uint32_t>(2 * begin);
  stage.end_tensor = static_cast<uint32_t>(2 * end);
  const auto width_after = [&](size_t layer) { return shape.tensors()[2 * layer].row_count; };
  stage.input_width = begin == 0 ? shape.dense_feature_count() : width_after(begin - 1);
  stage.output_width = width_after(end - 1);
  return stage;
}

}  // namespace

StageCut::StageCut(const ModelShape& shape, const v1::PipelineConfig& pipeline)
    : pipeline_(pipeline) {
  const size_t bottom_count = shape.bottom_weights().size();
  const size_t layer_count = bottom_count + shape.top_weights().size();
  size_t begin = 0;
  for (const v1::SplitConfig& split : pipeline_.split()) {
    const std::optional<LayerName> after = ParseLayerName(split.after());
    CHECK(after) << "validate_config lets no other name through";
    const size_t end = after->index + 1 + (after->is_top ? bottom_count : 0);
    stages_.push_back(MakeStage(shape, begin, end));
    begin = end;
  }
  stages_.push_back(MakeStage(shape, begin, layer_count));
  whole_ = MakeStage(shape, 0, layer_count);
}

uint32_t StageCut::StageOfTensor(uint32_t tensor) const {
  const auto found = std::ranges::find_if(
      stages_, [&](const StageSpec& stage) { return tensor < stage.end_tensor; });
  return static_cast<uint32_t>(found - stages_.begin());
}

uint32_t StageCut::row_stage() const {
  return static_cast<uint32_t>(std::ranges::find_if(stages_, &StageSpec::has_interaction) -
                               stages_.begin());
}

}  // namespace weir
