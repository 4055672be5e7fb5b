// What is said of a loss that is not finite, or of gradients that are not where the loss is.

#include "common/base/strings.h"
#include "common/compress/not_finite.h"
#include "worker/model/dlrm.h"
#include "worker/model/finite.h"

namespace weir::model {

Status Dlrm::Diverged() {
  const auto& [input, slice] = *last_;
  std::string place = FirstNonFinite(input, slice);
  if (place.empty()) {
    const std::string name =
        FirstNonFiniteTensor(input.stream, layout_->tensors(), last_gradients_);
    if (!name.empty()) return compress::NotFinite(name);
    place = "none any more";  // the replica is written meanwhile
  }
  return Internal(StrCat("the loss is not finite; the first place that is not: ", place,
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
  const bool are_labels = AllFinite(input.stream, {labels.data, static_cast<size_t>(labels.count)});
  return are_labels ? "" : "the labels";
}

}  // namespace weir::model
