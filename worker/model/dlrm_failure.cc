// What is said of a loss that is not finite.

#include "common/base/strings.h"
#include "worker/model/dlrm.h"
#include "worker/model/finite.h"

namespace weir::model {

Status Dlrm::Diverged(const Input& input, const Slice& slice) {
  return Internal(
      StrCat("the loss is not finite; the first place that is not: ", FirstNonFinite(input, slice),
             ". Training has diverged: try a smaller learning rate, and a transform "
             "for columns of large values"));
}

std::string Dlrm::FirstNonFinite(const Input& input, const Slice& slice) {
  for (Stage& stage : stages_) {
    std::string name =
        stage.FirstNonFinite(input.stream, input.parameters, batch_, slice, input.rows);
    if (!name.empty()) return name;
  }
  const kernels::ConstDeviceVector labels = batch_.Labels(slice);
  if (!AllFinite(input.stream, {labels.data, static_cast<size_t>(labels.count)})) {
    return "the labels";
  }
  // The replica may have been overwritten since it was loaded.
  return "none any more";
}

}  // namespace weir::model
