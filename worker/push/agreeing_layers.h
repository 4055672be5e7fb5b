// The layers of one rule whose policy has a proposer (common/compress/proposer.h): their gradients
// are taken in together, what they propose is told to the others of the round, and what all have
// agreed on is what each layer takes. Where nobody agrees, that is what this trainer proposed.
//
// Place in the life of a batch: residual += gradient -> **propose -> union** -> take -> encode.
// Thread rule: any thread; a step has the layers from Begin until its selection is encoded, and
// others may accumulate meanwhile. Borrows the layers.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/compress/device_agreed.h"
#include "common/compress/proposer.h"
#include "common/compress/range_select.h"
#include "common/layout/model_layout.h"
#include "common/proto/protocol.pb.h"
#include "common/session/body.h"
#include "worker/link/agreed_pieces.h"
#include "worker/push/dense_gradients.h"
#include "worker/push/layer_encoder.h"

namespace weir::worker {

class AgreeingLayers {
 public:
  // layers: at least one, of one rule. compute: where gradients are.
  AgreeingLayers(const ModelLayout& layout, const kernels::Compute& compute,
                 std::vector<LayerEncoder*> layers);

  std::span<LayerEncoder* const> layers() const { return layers_; }

  // Held from Begin on until the layers are encoded; the library's own (base/mutex.h), for who has
  // several rules keeps their locks in a list.
  std::unique_lock<std::mutex> Lock() { return std::unique_lock(mutex_); }

  // Takes the layers' gradients in and proposes.
  Status Begin(const compress::Turn& turn, const DenseGradients& dense);
  // A number for steps of this trainer alone.
  uint64_t NextStep() { return next_step_++; }

  // ELEMENT_IDS frames of what is proposed, for each server, and what the policy says.
  void AppendProposal(std::vector<session::BodyWriter>& writers, v1::PolicyWord* word) const;

  // What all have agreed on; of the union the layers' pieces.
  void Learn(const AgreedPieces& agreed, const v1::AgreedWord& word);
  // Nobody else has been asked.
  void LearnOwn();

  // Once it has learned: on a device what is agreed is taken, and comes with the plans. Waits.
  Status Take(const DenseGradients& dense);

  // Of the layer with that number, until the next Begin: the step's plan.
  const compress::StepPlan& plan(size_t layer) const { return plans_[layer]; }

  // Of a step without a push, on a device; on the host layers do it themselves.
  Status Accumulate(const DenseGradients& dense);
  // Null: residuals are on the host.
  compress::DeviceAgreed* on_device() const { return on_device_.get(); }

 private:
  void KeepResiduals(const kernels::Compute& compute);
  void Learn(uint64_t union_count, ByteSpan word, std::span<const ByteSpan> notes);
  // Once, and again when it changes, as with the number of trainers.
  void TellWhatIsClamped();

  const ModelLayout& layout_;
  const std::vector<LayerEncoder*> layers_;
  std::unique_ptr<compress::DeviceAgreed> on_device_;
  std::unique_ptr<compress::RangeSelect> on_host_;  // or null
  std::unique_ptr<compress::Proposer> proposer_;
  std::mutex mutex_;
  uint64_t next_step_ = 0;
  compress::Turn turn_;
  compress::Proposal proposal_;
  std::vector<std::vector<uint32_t>> union_;  // of each layer
  std::vector<compress::StepPlan> plans_;
  std::string told_clamped_;
};

}  // namespace weir::worker
