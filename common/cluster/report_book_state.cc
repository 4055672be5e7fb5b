// What workers have counted, as parts of what is saved: each leaf is one.
#include <algorithm>
#include <utility>

#include "common/cluster/report_book.h"

namespace weir::cluster {

void ReportBook::SaveChanges(SavedParts* parts) {
  saved_leaves_.SaveChanges(*this, parts);
  leaves_.SaveChanges(parts);
  if (saved_layer_count_ != known_.layers_size()) saved_layers_.SaveChanges(known_, parts);
  saved_layer_count_ = known_.layers_size();
  if (!std::exchange(is_saved_, true)) {
    for (size_t leaf = 0; leaf < leaf_count_; ++leaf) changed_leaves_.insert(leaf);
  }
  for (const size_t leaf : changed_leaves_) {
    std::string name = "report/" + WriteKey(leaf);
    const v1::WorkerReport& report = tree_.Leaf(leaf);
    report.ByteSizeLong() == 0 ? parts->Remove(std::move(name))
                               : parts->Put(std::move(name), WriteState(report));
  }
  changed_leaves_.clear();
}

Status ReportBook::Load(PartSource* source) {
  WEIR_RETURN_IF_ERROR(saved_leaves_.Load(source, this));
  WEIR_RETURN_IF_ERROR(leaves_.Load(source));
  if (!HoldsTogether()) return source->Damaged("leaves");
  v1::WorkerReport known;
  WEIR_RETURN_IF_ERROR(saved_layers_.Load(source, &known));
  if (!Know(known).ok()) return source->Damaged("layers");
  saved_layer_count_ = known_.layers_size();
  is_saved_ = is_stale_ = true;
  tree_.Set(leaf_count_ - 1, {});  // so that it has all of them
  return source->TakeEach(
      "report/", [this](std::string_view name, ByteSpan bytes) { return LoadLeaf(name, bytes); });
}

// Each leaf has one place, so there are no more than were saved.
bool ReportBook::HoldsTogether() const {
  std::set<size_t> leaves(free_leaves_.begin(), free_leaves_.end());
  for (const auto& [seat, leaf] : leaves_) leaves.insert(leaf);
  return leaves.size() == free_leaves_.size() + leaves_.size() &&
         leaf_count_ == leaves.size() + 1 && !leaves.contains(kGone) &&
         (leaves.empty() || *leaves.rbegin() < leaf_count_);
}

bool ReportBook::LoadLeaf(std::string_view name, ByteSpan bytes) {
  size_t leaf = 0;
  v1::WorkerReport report;
  StateReader state(bytes);
  state(report);
  if (!ReadKey(name, &leaf) || leaf >= leaf_count_ || !state.done()) return false;
  if (!Know(report).ok()) return false;
  tree_.Set(leaf, std::move(report));
  return true;
}

}  // namespace weir::cluster
