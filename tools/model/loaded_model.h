// A saved model: scores rows, and tells its parameters.
//
// The MLPs are in memory. Rows stay in the mapped file: loading checks all of it, by the checksums
// of its frames and of the whole, and finds where each row lies. Who saves a model there puts
// another file in its place, and this one stays. Who writes into it where it lies is not found out,
// and who cuts it short ends the process.
//
// Thread rule: thread-compatible.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/saved_model/saved_model.h"
#include "common/store/row_table.h"
#include "common/store/update_rule.h"
#include "common/tensor/aligned_buffer.h"
#include "tools/model/mapped_rows.h"
#include "worker/data/batch.h"
#include "worker/model/dlrm.h"

namespace weir::tools {

class LoadedModel {
 public:
  // Fails as SavedModel::Open and Visit do.
  static Result<std::unique_ptr<LoadedModel>> Load(const std::string& directory);

  const v1::SavedModelManifest& manifest() const { return saved_->manifest(); }
  const v1::Config& config() const { return saved_->config(); }
  const ModelLayout& layout() const { return saved_->layout(); }

  // The probability of label 1 for each row of the batch, as an evaluation at the end of the run
  // would give it, but that of a split's policy masks are kept alone that depend on no other row
  // and on no chance (Dlrm::Crossing::kOfSampleAlone). A row that training has not seen has its
  // initial values.
  void Score(const data::Batch& batch, std::span<float> probabilities);

  // All elements of a tensor, row-major.
  std::span<const float> tensor(const TensorSpec& tensor) const;
  // A table's row, [embedding_dimension].
  void ReadRow(uint32_t table, uint64_t id, std::span<float> out) const;

 private:
  explicit LoadedModel(std::unique_ptr<saved_model::SavedModel> saved);
  Status LoadParameters();
  // place: of the row in the file, or null.
  void ReadAt(const uint8_t* place, uint32_t table, uint64_t id, std::span<float> out) const;

  const std::unique_ptr<const saved_model::SavedModel> saved_;
  const std::unique_ptr<store::UpdateRule> row_rule_;
  tensor::AlignedBuffer parameters_;  // flat
  MappedRows rows_;
  store::RowPartitionStore unseen_;  // empty: gives rows that the model has not
  model::Dlrm dlrm_;
  std::vector<store::BatchRow> wanted_;  // of a batch
  std::vector<const uint8_t*> places_;
  std::vector<float> batch_rows_;
};

}  // namespace weir::tools
