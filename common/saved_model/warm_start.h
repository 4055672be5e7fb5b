// Going on from a saved model: whether it fits the run, and what of it a process takes over.
//
// Place in the life of a batch: before the first.
// Thread rule: thread-compatible.
#pragma once

#include <functional>
#include <span>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/saved_model/saved_model.h"

namespace weir::saved_model {

// What takes values and optimizer state, as the rules of the run lay it. It is the model's where
// the rule is of the same kind, else the rule's initial one.
struct WarmStart {
  // Bytes of the parameters that were read: all of them, bit by bit. What it returns, if it is not
  // OK, ends it. May be empty.
  std::function<Status(uint64_t bytes)> advance = {};
  // Whether a row is wanted; empty: all are.
  std::function<bool(uint32_t table, uint64_t id)> wants_row = {};
  // First: what the run's rules count from.
  std::function<void(const v1::RuleStarts& starts)> begin_rules;
  // Then: the step that rows which training has not touched begin at.
  std::function<void(uint64_t step)> start_rows;
  std::function<void(const PieceSpec& spec, std::span<const float> values,
                     std::span<const float> state)>
      piece;
  std::function<void(uint32_t table, uint64_t id, std::span<const float> values,
                     std::span<const float> state)>
      row;
};

// Gives every piece of `layout` and every row to `take`. config, layout: of the run.
// FailedPrecondition, with every difference, when the model is another one.
Status TakeOver(const SavedModel& model, const v1::Config& config, const ModelLayout& layout,
                const WarmStart& take);

// What the rules of a run that goes on from the model count from: what they did in the model's run,
// or the model's last step for one that is of another kind, and for rows nobody has touched under a
// rule with other settings.
v1::RuleStarts StartsOfRules(const SavedModel& model, const v1::UpdateConfig& update);

// What whoever goes on from the model with these rules should know, a sentence each: that the
// optimizer begins anew, or that nothing would be learned.
std::vector<std::string> Warnings(const SavedModel& model, const v1::UpdateConfig& update);

// "top/0/weight is 512 x 367 there and 512 x 400 here; ...": empty when tensors and tables are the
// same.
std::string DescribeDifference(const ModelLayout& saved, const ModelLayout& wanted);

}  // namespace weir::saved_model
