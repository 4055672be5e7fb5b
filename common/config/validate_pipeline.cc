#include "common/config/validate_pipeline.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "common/layout/message_bound.h"
#include "common/layout/model_layout.h"

namespace weir::config {
namespace {

constexpr int kMaxSplits = 15;

void ValidateShare(const std::string& path, bool is_set, double share, Violations* violations) {
  if (!is_set) {
    violations->Add(path, "is not set; give the share not sent, for example 0.9");
  } else if (!(share >= 0 && share < 1)) {
    violations->Add(path, share, " is out of range; choose from 0 to below 1, for example 0.9");
  }
}

void ValidateSplitPolicy(const std::string& path, const v1::SplitConfig& split,
                         Violations* violations) {
  const auto require_share = [&](const char* field, bool is_set, double share) {
    ValidateShare(StrCat(path, ".", field), is_set, share, violations);
  };
  if (!v1::ValueCoding_IsValid(split.values())) {
    violations->Add(path + ".values", "unknown value ", split.values(), "; choose F32 or BF16");
  }
  if (split.has_dct_mp()) {
    require_share("dct_mp.sparsity", split.dct_mp().has_sparsity(), split.dct_mp().sparsity());
  }
  if (split.has_random_k()) {
    require_share("random_k.sparsity", split.random_k().has_sparsity(),
                  split.random_k().sparsity());
  }
  if (split.has_top_k_gradient()) {
    require_share("top_k_gradient.sparsity", split.top_k_gradient().has_sparsity(),
                  split.top_k_gradient().sparsity());
  }
  if (split.has_gaussian_sketch()) {
    require_share("gaussian_sketch.compression", split.gaussian_sketch().has_compression(),
                  split.gaussian_sketch().compression());
  }
  if (!split.has_quantize()) return;
  violations->RequireRange(path + ".quantize.bits", split.quantize().bits(), 2, 8);
  if (split.values() == v1::BF16) {
    violations->Add(path + ".values", "quantize sends codes of a few bits; leave it out");
  }
}

// Policies see a frame's samples alone.
void ValidateWholeBatch(const std::string& path, const v1::SplitConfig& split, int32_t batch_size,
                        Violations* violations) {
  if (!split.top_k_gradient().whole_batch() || batch_size <= kSplitRows) return;
  violations->Add(path + ".top_k_gradient.whole_batch", "a batch of ", batch_size,
                  " crosses in frames of ", kSplitRows,
                  " samples, of each of which the largest would be sent; choose data.batch_size: ",
                  kSplitRows, " or less, or leave it out");
}

// Counted through both MLPs; below 0 when there is no such layer to split after.
int64_t LayerNumber(const std::string& path, const std::string& after, const v1::ModelConfig& model,
                    Violations* violations) {
  const int64_t bottom_count = model.bottom_widths_size(), top_count = model.top_widths_size();
  const std::optional<LayerName> layer = ParseLayerName(after);
  const int64_t count = layer && layer->is_top ? top_count : bottom_count;
  if (after.empty()) {
    violations->Add(path, "is not set; name the layer before the split, for example bottom/1");
  } else if (!layer) {
    violations->Add(path, "'", after, "' is no layer; name one as bottom/<i> or top/<i>");
  } else if (static_cast<int64_t>(layer->index) >= count) {
    violations->Add(path, "there is no layer ", after, ": the ", layer->is_top ? "top" : "bottom",
                    " MLP has ", count);
  } else if (layer->is_top && static_cast<int64_t>(layer->index) == top_count - 1) {
    violations->Add(path, after, " is the last layer, so nothing is left for the next stage");
  } else {
    return static_cast<int64_t>(layer->index) + (layer->is_top ? bottom_count : 0);
  }
  return -1;
}

}  // namespace

void ValidatePipeline(const v1::Config& config, Violations* violations) {
  const v1::PipelineConfig& pipeline = config.pipeline();
  if (pipeline.split_size() > kMaxSplits) {
    violations->Add("pipeline.split", "there are ", pipeline.split_size(), "; at most ", kMaxSplits,
                    ", which make ", kMaxSplits + 1, " stages");
  }
  violations->RequireRange("pipeline.in_flight", pipeline.in_flight(), 1, 64);
  int64_t last = -1;
  for (int i = 0; i < pipeline.split_size(); ++i) {
    const v1::SplitConfig& split = pipeline.split(i);
    const std::string path = StrCat("pipeline.split[", i, "]");
    ValidateSplitPolicy(path, split, violations);
    ValidateWholeBatch(path, split, config.data().batch_size(), violations);
    const int64_t layer = LayerNumber(path + ".after", split.after(), config.model(), violations);
    if (layer < 0) continue;
    if (layer == last) {
      violations->Add(path + ".after", "there is a split after ", split.after(), " already");
    } else if (layer < last) {
      violations->Add(path + ".after", split.after(), " comes before ",
                      pipeline.split(i - 1).after(), "; write splits in the order of the layers");
    }
    last = std::max(last, layer);
  }
}

}  // namespace weir::config
