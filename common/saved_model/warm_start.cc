#include "common/saved_model/warm_start.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/store/update_rule.h"
#include "google/protobuf/util/message_differencer.h"

namespace weir::saved_model {
namespace {

std::string Shape(const TensorSpec& tensor) {
  return StrCat(tensor.row_count, " x ", tensor.column_count);
}

// Optimizer state of a saved model, as the run that goes on needs it.
class StateOf {
 public:
  // what: for messages. step: of the saved model.
  StateOf(const char* what, const v1::UpdateRule& saved, const v1::UpdateRule& wanted,
          int64_t dimension, uint64_t step)
      : rule_(store::MakeUpdateRule(wanted)),
        same_config_(google::protobuf::util::MessageDifferencer::Equals(saved, wanted)),
        kept_(same_config_ || KeepsSameState(saved, wanted, dimension)),
        step_(step) {
    if (kept_) return;
    LOG(WARNING) << "the saved model was trained with another update rule of " << what
                 << ": its optimizer state is left, and begins anew";
  }

  std::span<const float> OfRow(std::span<const float> saved, int64_t dimension) {
    state_.resize(static_cast<size_t>(rule_->StatePerRow(dimension)));
    Fill(saved, static_cast<size_t>(dimension), state_);
    return state_;
  }

  // Stripe by stripe, as it lies.
  std::span<const float> OfPiece(std::span<const float> saved, size_t element_count) {
    const auto per_element = static_cast<size_t>(rule_->StatePerElement());
    state_.resize(element_count * per_element);
    for (size_t begin = 0; begin < element_count; begin += kStripeElements) {
      const size_t count = std::min(element_count - begin, static_cast<size_t>(kStripeElements));
      const size_t first = begin * per_element, floats = count * per_element;
      Fill(kept_ ? saved.subspan(first, floats) : saved, count,
           std::span(state_).subspan(first, floats));
    }
    return state_;
  }

 private:
  // The same kind of rule, at rest in the same way, lays its state alike.
  bool KeepsSameState(const v1::UpdateRule& saved, const v1::UpdateRule& wanted,
                      int64_t dimension) const {
    if (saved.rule_case() != wanted.rule_case()) return false;
    const auto before = store::MakeUpdateRule(saved);
    return before->StatePerElement() == rule_->StatePerElement() &&
           before->StatePerRow(dimension) == rule_->StatePerRow(dimension);
  }

  // Steps at rest were the other config's business.
  void Fill(std::span<const float> saved, size_t count, std::span<float> state) const {
    if (kept_) {
      std::ranges::copy(saved, state.begin());
    } else {
      rule_->InitialState(count, state);
    }
    if (!same_config_) rule_->StartAt(count, step_, state);
  }

  const std::unique_ptr<const store::UpdateRule> rule_;
  const bool same_config_, kept_;
  const uint64_t step_;
  std::vector<float> state_;  // of the last call
};

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

Status TakeOver(const SavedModel& model, const v1::Config& config, const ModelLayout& layout,
                const WarmStart& take) {
  const std::string difference = DescribeDifference(model.layout(), layout);
  if (!difference.empty()) {
    return FailedPrecondition(
        StrCat("the saved model is another one than the config's: ", difference));
  }
  const int64_t dimension = layout.embedding_dimension();
  const auto value_count = static_cast<size_t>(dimension);
  const uint64_t step = model.manifest().steps();
  const v1::UpdateConfig &before = model.config().update(), &now = config.update();
  StateOf dense("the MLPs", before.dense(), now.dense(), 1, step);
  StateOf of_rows("the rows", before.rows(), now.rows(), dimension, step);
  std::map<std::pair<uint32_t, int64_t>, const PieceSpec*> pieces;
  for (const PieceSpec& spec : layout.pieces()) pieces[{spec.tensor, spec.begin}] = &spec;
  return model.Visit({.piece =
                          [&](const SavedPiece& piece) {
                            take.piece(*pieces.at({piece.tensor, piece.begin}), piece.values,
                                       dense.OfPiece(piece.state, piece.values.size()));
                          },
                      .rows =
                          [&](const SavedRows& rows) {
                            for (size_t i = 0; i < rows.ids.size(); ++i) {
                              const auto row =
                                  rows.rows.subspan(i * rows.row_floats, rows.row_floats);
                              take.row(rows.table, rows.ids[i], row.first(value_count),
                                       of_rows.OfRow(row.subspan(value_count), dimension));
                            }
                          }});
}

}  // namespace weir::saved_model
