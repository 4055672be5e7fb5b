#include "common/saved_model/warm_start.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/store/update_rule.h"

namespace weir::saved_model {
namespace {

std::string Shape(const TensorSpec& tensor) {
  return StrCat(tensor.row_count, " x ", tensor.column_count);
}

// What the two rules keep beside values is the same: the same rule, at rest in the same way.
bool KeepsSameState(const v1::UpdateRule& saved, const v1::UpdateRule& wanted, int64_t dimension) {
  if (saved.rule_case() != wanted.rule_case()) return false;
  const auto a = store::MakeUpdateRule(saved), b = store::MakeUpdateRule(wanted);
  return a->StatePerElement() == b->StatePerElement() &&
         a->StatePerRow(dimension) == b->StatePerRow(dimension);
}

void WarnUnlessSame(const char* what, bool same) {
  if (same) return;
  LOG(WARNING) << "the saved model was trained with another update rule of " << what
               << ": its optimizer state is left, and begins anew";
}

}  // namespace

std::string DescribeDifference(const ModelLayout& saved, const ModelLayout& wanted) {
  std::vector<std::string> differences;
  const auto compare_count = [&](const char* what, size_t there, size_t here) {
    if (there != here) differences.push_back(StrCat(there, " ", what, " there and ", here, " here"));
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
    return FailedPrecondition(StrCat("the saved model is another one than the config's: ",
                                     difference));
  }
  const auto dimension = static_cast<size_t>(layout.embedding_dimension());
  const auto& saved_update = model.config().update();
  const bool dense_state = KeepsSameState(saved_update.dense(), config.update().dense(), 1);
  const bool row_state = KeepsSameState(saved_update.rows(), config.update().rows(),
                                        layout.embedding_dimension());
  WarnUnlessSame("the MLPs", dense_state);
  WarnUnlessSame("the rows", row_state);
  std::map<std::pair<uint32_t, int64_t>, const PieceSpec*> pieces;
  for (const PieceSpec& spec : layout.pieces()) pieces[{spec.tensor, spec.begin}] = &spec;
  return model.Visit(
      {.piece =
           [&](const SavedPiece& piece) {
             take.piece(*pieces.at({piece.tensor, piece.begin}), piece.values,
                        dense_state ? piece.state : std::span<const float>());
           },
       .rows =
           [&](const SavedRows& rows) {
             for (size_t i = 0; i < rows.ids.size(); ++i) {
               const auto row = rows.rows.subspan(i * rows.row_floats, rows.row_floats);
               take.row(rows.table, rows.ids[i], row.first(dimension),
                        row_state ? row.subspan(dimension) : std::span<const float>());
             }
           }});
}

}  // namespace weir::saved_model
