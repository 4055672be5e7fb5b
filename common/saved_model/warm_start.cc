#include "common/saved_model/warm_start.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/saved_model/manifest.h"
#include "common/store/learning_rate.h"
#include "common/store/update_rule.h"
#include "google/protobuf/util/message_differencer.h"

namespace weir::saved_model {
namespace {

std::string Shape(const TensorSpec& tensor) {
  return StrCat(tensor.row_count, " x ", tensor.column_count);
}

// Values and optimizer state of a saved model, as a run with perhaps another update rule needs
// them. Under another one, steps at rest are done by the old rule up to the model's last step.
class Handover {
 public:
  // start_before, start: what the rules count from. step: what was saved is as of it. next: where
  // what is wanted goes on; not before it.
  Handover(const v1::UpdateRule& saved, uint64_t start_before, const v1::UpdateRule& wanted,
           uint64_t start, uint64_t step, uint64_t next)
      : before_(store::MakeUpdateRule(saved)),
        now_(store::MakeUpdateRule(wanted)),
        same_config_(google::protobuf::util::MessageDifferencer::Equals(saved, wanted)),
        same_rule_(saved.rule_case() == wanted.rule_case()),
        step_(step),
        next_(next) {
    before_->BeginAfter(start_before);
    now_->BeginAfter(start);
  }

  std::span<const float> values() const { return values_; }
  std::span<const float> state() const { return state_; }

  void TakeRow(std::span<const float> values, std::span<const float> state) {
    const size_t count = values.size();
    values_.assign(values.begin(), values.end());
    state_.resize(static_cast<size_t>(now_->StatePerRow(static_cast<int64_t>(count))));
    if (same_config_) {
      std::ranges::copy(state, state_.begin());
      now_->Skip(count, next_ - step_, state_);
      return;
    }
    std::vector<float> settled(state.begin(), state.end());
    before_->SettleRow(values_, settled, step_);
    Convert(settled, count, state_);
  }

  // Stripe by stripe, as it lies.
  void TakePiece(std::span<const float> values, std::span<const float> state) {
    const auto floats_before = static_cast<size_t>(before_->StatePerElement());
    const auto floats_now = static_cast<size_t>(now_->StatePerElement());
    values_.assign(values.begin(), values.end());
    state_.resize(values.size() * floats_now);
    for (size_t begin = 0; begin < values.size(); begin += kStripeElements) {
      const size_t count = std::min(values.size() - begin, static_cast<size_t>(kStripeElements));
      const auto saved = state.subspan(begin * floats_before, count * floats_before);
      const auto out = std::span(state_).subspan(begin * floats_now, count * floats_now);
      if (same_config_) {
        std::ranges::copy(saved, out.begin());
        continue;
      }
      std::vector<float> settled(saved.begin(), saved.end());
      before_->SettleDense(std::span(values_).subspan(begin, count), settled, step_);
      Convert(settled, count, out);
    }
  }

 private:
  // Rules of one kind have the same moments, and behind them perhaps a last step.
  void Convert(std::span<const float> settled, size_t count, std::span<float> out) const {
    now_->InitialState(count, out);
    if (same_rule_)
      std::ranges::copy(settled.first(std::min(settled.size(), out.size())), out.begin());
    now_->StartAt(count, next_, out);
  }

  const std::unique_ptr<store::UpdateRule> before_, now_;
  const bool same_config_, same_rule_;
  const uint64_t step_, next_;
  std::vector<float> values_, state_;  // of the last call
};

// "path: a -> b, ..." of two messages of one kind; empty when they are the same but for what is
// ignored.
std::string DescribeMessages(const google::protobuf::Message& saved,
                             const google::protobuf::Message& wanted,
                             std::initializer_list<const char*> ignored) {
  google::protobuf::util::MessageDifferencer differencer;
  for (const char* field : ignored) {
    differencer.IgnoreField(saved.GetDescriptor()->FindFieldByName(field));
  }
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(saved, wanted)) return "";
  while (differences.ends_with('\n')) differences.pop_back();
  return StrJoin(StrSplit(differences, '\n'), ", ");
}

// What the columns of a file become: other columns would make of the same weights another model.
std::string DescribeColumns(const v1::DataConfig& saved, const v1::DataConfig& wanted) {
  if (saved.reader_case() != wanted.reader_case()) return "data has another reader";
  const std::string differences = DescribeMessages(saved.csv(), wanted.csv(), {"label"});
  return differences.empty() ? "" : StrCat("data.csv, ", differences);
}

std::string DescribeStructure(const v1::ModelConfig& saved, const v1::ModelConfig& wanted) {
  const std::string differences =
      DescribeMessages(saved, wanted, {"loss", "precision", "dlrm_initial_values"});
  return differences.empty() ? "" : StrCat("model, ", differences);
}

}  // namespace

std::string DescribeDifference(const ModelLayout& saved, const ModelLayout& wanted) {
  std::vector<std::string> differences;
  const auto compare_count = [&](const char* what, size_t there, size_t here) {
    if (there != here)
      differences.push_back(StrCat(there, " ", what, " there and ", here, " here"));
  };
  compare_count("tensors", saved.tensors().size(), wanted.tensors().size());
  compare_count("tables", saved.tables().size(), wanted.tables().size());
  for (size_t i = 0; i < std::min(saved.tensors().size(), wanted.tensors().size()); ++i) {
    const TensorSpec &there = saved.tensors()[i], &here = wanted.tensors()[i];
    if (there.name == here.name && Shape(there) == Shape(here)) continue;
    differences.push_back(StrCat(there.name, " of ", Shape(there), " there and ", here.name, " of ",
                                 Shape(here), " here"));
  }
  for (size_t i = 0; i < std::min(saved.tables().size(), wanted.tables().size()); ++i) {
    const TableSpec &there = saved.tables()[i], &here = wanted.tables()[i];
    if (there.name == here.name && there.row_count == here.row_count) continue;
    differences.push_back(StrCat("table ", there.name, " of ", there.row_count, " rows there and ",
                                 here.name, " of ", here.row_count, " here"));
  }
  if (saved.embedding_dimension() != wanted.embedding_dimension()) {
    differences.push_back(StrCat("rows of ", saved.embedding_dimension(), " there and of ",
                                 wanted.embedding_dimension(), " here"));
  }
  return StrJoin(differences, "; ");
}

v1::RuleStarts StartsOfRules(const SavedModel& model, const v1::UpdateConfig& update) {
  const v1::UpdateConfig& saved = model.config().update();
  v1::RuleStarts starts = model.manifest().rule_starts();
  if (saved.dense().rule_case() != update.dense().rule_case()) {
    starts.set_dense(model.manifest().steps());
  }
  if (saved.rows().rule_case() != update.rows().rule_case()) {
    starts.set_rows(model.manifest().steps());
  }
  if (!google::protobuf::util::MessageDifferencer::Equals(saved.rows(), update.rows())) {
    starts.set_untouched_rows(model.manifest().steps());
  } else {
    starts.set_untouched_rows(starts.untouched_rows() + model.manifest().steps() -
                              RowSteps(model.manifest()));
  }
  return starts;
}

std::vector<std::string> Warnings(const SavedModel& model, const v1::UpdateConfig& update) {
  const uint64_t step = model.manifest().steps() + 1;
  const v1::RuleStarts starts = StartsOfRules(model, update);
  const v1::UpdateConfig& saved = model.config().update();
  std::vector<std::string> warnings;
  for (const auto& [what, before, rule, start] :
       {std::tuple("update.dense", &saved.dense(), &update.dense(), starts.dense()),
        std::tuple("update.rows", &saved.rows(), &update.rows(), starts.rows())}) {
    if (before->rule_case() != rule->rule_case()) {
      warnings.push_back(StrCat(what,
                                ": the saved model was trained with another rule, so the optimizer "
                                "begins anew, as its schedule does"));
    }
    if (store::LearningRate(1, rule->schedule()).At(step - start) > 0) continue;
    warnings.push_back(StrCat(
        what, ": the learning rate is 0 from step ", step, " on, where this run begins, for its ",
        "schedule ended with the saved model's run: nothing is learned; give it another schedule"));
  }
  return warnings;
}

Status TakeOver(const SavedModel& model, const v1::Config& config, const ModelLayout& layout,
                const WarmStart& take) {
  std::vector<std::string> differences;
  const auto add = [&](std::string difference) {
    if (!difference.empty()) differences.push_back(std::move(difference));
  };
  add(DescribeDifference(model.layout(), layout));
  if (differences.empty()) add(DescribeStructure(model.config().model(), config.model()));
  add(DescribeColumns(model.config().data(), config.data()));
  if (!differences.empty()) {
    return FailedPrecondition(
        StrCat("the saved model is another one than the config's: ", StrJoin(differences, "; ")));
  }
  const auto dimension = static_cast<size_t>(layout.embedding_dimension());
  const uint64_t step = model.manifest().steps(), row_step = RowSteps(model.manifest());
  const v1::UpdateConfig &before = model.config().update(), &now = config.update();
  const v1::RuleStarts &starts_before = model.manifest().rule_starts(),
                       starts = StartsOfRules(model, now);
  Handover dense(before.dense(), starts_before.dense(), now.dense(), starts.dense(), step, step);
  Handover row(before.rows(), starts_before.rows(), now.rows(), starts.rows(), row_step, step);
  std::map<std::pair<uint32_t, int64_t>, const PieceSpec*> pieces;
  for (const PieceSpec& spec : layout.pieces()) pieces[{spec.tensor, spec.begin}] = &spec;
  take.begin_rules(starts);
  take.start_rows(starts.untouched_rows());
  return model.Visit(
      {.advance = take.advance,
       .piece =
           [&](const SavedPiece& piece) {
             dense.TakePiece(piece.values, piece.state);
             take.piece(*pieces.at({piece.tensor, piece.begin}), dense.values(), dense.state());
           },
       .rows =
           [&](const SavedRows& rows) {
             std::vector<float> floats(rows.row_floats);
             const std::span<const float> saved = floats;
             for (size_t i = 0; i < rows.ids.size(); ++i) {
               if (take.wants_row && !take.wants_row(rows.table, rows.ids[i])) continue;
               rows.CopyRow(i, floats);
               row.TakeRow(saved.first(dimension), saved.subspan(dimension));
               take.row(rows.table, rows.ids[i], row.values(), row.state());
             }
           }});
}

}  // namespace weir::saved_model
