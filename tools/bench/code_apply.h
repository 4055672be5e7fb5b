// The part of the section code that applies what was decoded.
//
// Thread rule: as in section.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/store/piece.h"
#include "common/store/update_rule.h"
#include "server/shard/gradient_applier.h"
#include "tools/bench/coded_gradient.h"
#include "tools/bench/section.h"

namespace weir::bench {

// A model one of whose tensors is the square that a Coder's frames are of.
ModelLayout SquareLayout();

// Decoding and applying, as a server does it.
struct ApplyTarget {
  ApplyTarget(const ModelLayout& layout, uint32_t element_count, const v1::UpdateRule& config);

  Status Apply(const Bytes& bytes);

  std::unique_ptr<const store::UpdateRule> rule;
  store::Piece piece;
  server::GradientApplier applier;
  uint64_t version = 0;
};

// Applies one push, whose bytes are the selection's, to a new target, and looks at every element.
// step: what one with that gradient loses.
Status VerifyApply(const Selection& selection, const Bytes& bytes, ApplyTarget& target,
                   const std::function<float(float)>& step);

// Adds lines "code/apply_<rule>/<density_name>" for a piece of so many elements.
Status AddApplyLines(const Options& options, uint32_t element_count, double density,
                     const char* density_name, Lines* lines);

}  // namespace weir::bench
