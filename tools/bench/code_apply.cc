// What a server does with a gradient frame, decoding included, beside decoding alone.

#include "tools/bench/code_apply.h"

#include <cmath>

#include "common/base/strings.h"
#include "tools/bench/measure.h"

namespace weir::bench {
namespace {

constexpr float kLearningRate = 0.01f, kEpsilon = 1e-8f;

}  // namespace

ApplyTarget::ApplyTarget(const ModelLayout& layout, uint32_t element_count,
                         const v1::UpdateRule& config)
    : rule(store::MakeUpdateRule(config)),
      piece(layout,
            {.id = 0,
             .tensor = kSquareTensor,
             .begin = 0,
             .element_count = element_count,
             .server = 0},
            *rule) {}

Status ApplyTarget::Apply(const Bytes& bytes) {
  wire::FrameCursor cursor(bytes);
  WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
  return applier
      .Apply({.frame = frame, .agreed = {}, .tensor_name = "the piece"}, ++version, &piece)
      .status();
}

ModelLayout SquareLayout() {
  v1::Config config;
  for (const int32_t width : {int32_t{kSide}, int32_t{kSide}}) {
    config.mutable_model()->add_bottom_widths(width);
  }
  config.mutable_model()->add_top_widths(1);
  config.mutable_model()->set_embedding_dimension(kSide);
  config.mutable_data()->mutable_synthetic()->set_dense_features(1);
  config.mutable_data()->mutable_synthetic()->set_tables(1);
  return ModelLayout(config, 1);
}

Status VerifyApply(const Selection& selection, const Bytes& bytes, ApplyTarget& target,
                   const std::function<float(float)>& step) {
  const std::vector<float> before(target.piece.values().begin(), target.piece.values().end());
  std::vector<float> expected = before;
  for (size_t stripe = 0; stripe < selection.stripes.size(); ++stripe) {
    const SelectedStripe& selected = selection.stripes[stripe];
    for (size_t i = 0; i < selected.indexes.size(); ++i) {
      expected[stripe * kStripe + selected.indexes[i]] -= step(selected.values[i]);
    }
  }
  WEIR_RETURN_IF_ERROR(target.Apply(bytes));
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool untouched = expected[i] == before[i];
    const float error = std::abs(target.piece.values()[i] - expected[i]);
    const float bound = untouched ? 0 : 1e-5f * (1 + std::abs(expected[i]));
    if (!(error <= bound)) {  // so that NaN is none
      return Internal(StrCat("element ", i, " was not updated as its rule says"));
    }
  }
  return OkStatus();
}

Status AddApplyLines(const Options& options, uint32_t element_count, double density,
                     const char* density_name, Lines* lines) {
  const Selection selection(element_count, density);
  Coder coder(selection);
  coder.Encode();
  const ModelLayout layout = SquareLayout();
  v1::UpdateRule sgd_config, adagrad_config;
  sgd_config.mutable_sgd()->set_learning_rate(kLearningRate);
  adagrad_config.mutable_adagrad()->set_learning_rate(kLearningRate);
  adagrad_config.mutable_adagrad()->set_epsilon(kEpsilon);
  ApplyTarget sgd(layout, selection.element_count, sgd_config);
  ApplyTarget adagrad(layout, selection.element_count, adagrad_config);
  WEIR_RETURN_IF_ERROR(VerifyApply(selection, coder.bytes(), sgd,
                                   [](float gradient) { return kLearningRate * gradient; }));
  WEIR_RETURN_IF_ERROR(VerifyApply(selection, coder.bytes(), adagrad, [](float gradient) {
    return kLearningRate * gradient / (std::sqrt(gradient * gradient) + kEpsilon);
  }));
  const auto apply = [&](ApplyTarget& target) {
    KeepAlive(target.Apply(coder.bytes()).ok() ? &target : nullptr);
  };
  const auto rates = MedianMillions(options, selection,
                                    {[&] { apply(sgd); }, [&] { apply(adagrad); },
                                     [&] { KeepAlive(coder.Decode().ok() ? &coder : nullptr); }});
  const char* const names[] = {"sgd", "adagrad"};
  for (size_t i = 0; i < 2; ++i) {
    lines->push_back({.name = StrCat("code/apply_", names[i], "/", density_name),
                      .value = rates[i],
                      .unit = "M elements/s",
                      .peer = "decoding alone",
                      .peer_value = rates[2]});
  }
  return OkStatus();
}

}  // namespace weir::bench
