// How a gradient changes a parameter: SGD, Adagrad, momentum, Adam, row-wise Adagrad, behind one
// interface.
//
// A rule is arithmetic over spans that somebody else owns: pieces (piece.h) and rows (row_table.h)
// keep value and state side by side and hand both in. A gradient that is not given is zero, and so
// is one of exactly zero: a sparse push may leave it out. What a step without a gradient does is
// done when the next gradient comes (common/store/rest.h), or, with dense_semantics(), at once.
// Element for element, the sparse and the dense form give the same bits, and without moves at rest
// the row form too; a rule that moves at rest takes a row's step for all its elements, those with a
// gradient of zero included, which is the same to rounding.
//
// Steps are numbered from 1, or a run that goes on under another rule begins later (BeginAfter). A
// parameter's steps come in order; where threads race for it, a late one is taken as if it came in
// its place.
//
// Place in the life of a batch: push -> number -> decode -> **apply** -> stamp -> answer.
// Thread rule: once it has begun immutable, any thread; the spans belong to the caller's strand.
// Sources: Duchi, Hazan, Singer 2011 (Adagrad); row-wise Adagrad in the form of FBGEMM and
// TorchRec; momentum and Adam in the form of PyTorch; Loshchilov and Hutter 2019 (weight decay).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "common/base/check.h"
#include "common/kernels/rest.h"
#include "common/kernels/update_steps.h"
#include "common/proto/config.pb.h"

namespace weir::store {

// One embedding row's: [dimension] values and gradient, [StatePerRow(dimension)] state.
struct RowUpdate {
  float* values;
  float* state;
  const float* gradient;
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  // The rule's own first step is the one after `step`: its schedule and its memory of steps count
  // from there. Before anything else, or not at all.
  void BeginAfter(uint64_t step) { start_ = step; }

  // The rule's field in v1::UpdateRule.
  virtual std::string_view name() const = 0;
  // False for rules of embedding rows alone, which validate_config keeps away from dense tensors.
  virtual bool serves_dense() const { return true; }

  // Whether steps without a gradient change values.
  virtual bool moves_at_rest() const = 0;
  // Whether every step must be applied to every dense element, with a gradient of zero if need be:
  // by ApplyDense, which then leaves none out.
  virtual bool dense_semantics() const = 0;

  // A step that moves all elements, as a device takes it, and its floats of state with each.
  virtual kernels::UpdateStep StepAt(uint64_t step) const = 0;
  virtual int64_t MomentsPerElement() const = 0;
  // State floats kept with each element of a dense tensor, and with a row of `dimension` values.
  virtual int64_t StatePerElement() const = 0;
  virtual int64_t StatePerRow(int64_t dimension) const = 0;

  // Writes the state of dense elements or of a row, value_count of them, without a gradient yet.
  virtual void InitialState(size_t value_count, std::span<float> state) const = 0;

  // In all forms `state` has the size given above, empty for a stateless rule. What is given
  // together stays together: the state of one element does not lie by itself.
  // values[indexes[i]] gets gradients[i]. Indexes are distinct and below values.size().
  virtual void ApplySparse(std::span<float> values, std::span<float> state,
                           std::span<const uint16_t> indexes, std::span<const float> gradients,
                           uint64_t step) const = 0;
  // values[i] gets gradients[i]; both have one size.
  virtual void ApplyDense(std::span<float> values, std::span<float> state,
                          std::span<const float> gradients, uint64_t step) const = 0;
  // Embedding rows, one after the other: a row may come twice.
  virtual void ApplyRows(std::span<const RowUpdate> updates, size_t dimension,
                         uint64_t step) const = 0;
  // What a row is after `step`. out: its values, which become that.
  virtual void CatchUp(std::span<float> out, std::span<const float> state, uint64_t step) const = 0;
  // The same for a row where it lies, and its state; and for dense elements.
  virtual void SettleRow(std::span<float> row, std::span<float> state, uint64_t step) const = 0;
  virtual void SettleDense(std::span<float> values, std::span<float> state,
                           uint64_t step) const = 0;
  // Where a device has the rows, but for the last float of their state, their last step: what is to
  // do before a row is read as of `step`, and before it takes StepAt(step), which then is its last.
  virtual kernels::Rest RestToRead(float last, uint64_t step) const = 0;
  virtual kernels::Rest RestToStep(float* last, uint64_t step) const = 0;
  // Makes such a state one of `step`: nothing moves at rest for the steps until then.
  virtual void StartAt(size_t value_count, uint64_t step, std::span<float> state) const = 0;
  // As if it were of so many steps later: what moves at rest does not move for those.
  virtual void Skip(size_t value_count, uint64_t step_count, std::span<float> state) const = 0;

  // ApplyRows for one row.
  void ApplyRow(std::span<float> row, std::span<float> state, std::span<const float> gradient,
                uint64_t step) const {
    DCHECK_EQ(row.size(), gradient.size());
    const RowUpdate update{row.data(), state.data(), gradient.data()};
    ApplyRows({&update, 1}, row.size(), step);
  }

 protected:
  // The rule's own number of a step.
  uint64_t Own(uint64_t step) const {
    DCHECK_GE(step, start_);
    return step - start_;
  }

 private:
  uint64_t start_ = 0;
};

// The rule that the config chose. config: with defaults filled in and valid.
std::unique_ptr<UpdateRule> MakeUpdateRule(const v1::UpdateRule& config);

}  // namespace weir::store
