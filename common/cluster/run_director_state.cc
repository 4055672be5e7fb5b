// What happens when in a run, as parts of what is saved.
#include <utility>

#include "common/cluster/run_director.h"

namespace weir::cluster {

void RunDirector::SaveChanges(SavedParts* parts) {
  saved_run_.SaveChanges(*this, parts);
  PartsUnder train("train/", parts), test("test/", parts);
  train_.SaveChanges(&train);
  test_.SaveChanges(&test);
  if (shares_) shares_->SaveChanges(parts);
  asked_.SaveChanges(parts);
  await_place_.SaveChanges(parts);
  scores_.SaveChanges(parts);
  for (; saved_evaluations_ < evaluations_.size(); ++saved_evaluations_) {
    parts->Put("evaluation/" + WriteKey(saved_evaluations_),
               WriteState(evaluations_[saved_evaluations_]));
  }
}

Status RunDirector::Load(PartSource* source) {
  WEIR_RETURN_IF_ERROR(saved_run_.Load(source, this));
  if (state_ > State::kFailed || phase_ > Phase::kSaving) return source->Damaged("run");
  PartSource train("train/", source), test("test/", source);
  WEIR_RETURN_IF_ERROR(train_.Load(&train));
  WEIR_RETURN_IF_ERROR(test_.Load(&test));
  plan_.train_file_count = train_.file_count();
  plan_.test_file_count = test_.file_count();
  if (shares_) WEIR_RETURN_IF_ERROR(shares_->Load(source));
  WEIR_RETURN_IF_ERROR(asked_.Load(source));
  WEIR_RETURN_IF_ERROR(await_place_.Load(source));
  WEIR_RETURN_IF_ERROR(scores_.Load(source));
  scores_taken_ = false;
  return LoadEvaluations(source);
}

Status RunDirector::LoadEvaluations(PartSource* source) {
  SavedMap<size_t, v1::EvaluationReport> saved("evaluation");
  WEIR_RETURN_IF_ERROR(saved.Load(source));
  evaluations_.clear();
  for (const auto& [index, report] : saved) {
    if (index != evaluations_.size()) return source->Damaged("evaluation");
    evaluations_.push_back(report);
  }
  saved_evaluations_ = evaluations_.size();
  return OkStatus();
}

}  // namespace weir::cluster
