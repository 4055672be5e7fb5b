// Turns one step's gradients into a push: each layer through its policy and its coding
// (LayerEncoder), each frame to the server that owns the piece; rows beside them (RowEncoder).
// Holds the policies and their states (the residuals), shared by the worker's Hogwild threads. On a
// device policies select there: rule by rule where trainers agree, of other layers for all at once.
//
// Place in the life of a batch: backward -> **residual += gradient -> select -> encode** -> push.
// Thread rule: any thread, each with its own Scratch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/compress/device_selector.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"
#include "common/saved_model/policy_states.h"
#include "common/session/body.h"
#include "worker/data/batch.h"
#include "worker/link/agreed_pieces.h"
#include "worker/push/agreeing_rules.h"
#include "worker/push/body_sizes.h"
#include "worker/push/dense_gradients.h"
#include "worker/push/layer_encoder.h"
#include "worker/push/row_encoder.h"

namespace weir::worker {

class StepEncoder {
 public:
  // layout outlives the encoder. trainer: gives it random choices of its own. stage: the worker's,
  // or all. compute: where gradients are.
  StepEncoder(const v1::Config& config, const ModelLayout& layout, uint32_t trainer,
              const StageSpec& stage, const kernels::Compute& compute);
  StepEncoder(const v1::Config& config, const ModelLayout& layout, uint32_t trainer)
      : StepEncoder(config, layout, trainer, layout.whole(),
                    kernels::CpuCompute(kernels::Precision::kF32)) {}

  // A step of this batch may go without a push: nothing but residuals is concerned.
  bool MayWait(const data::Batch& batch) const;

  // Where the policies that ask for squares have them added up.
  compress::SquareSumsOfTensors square_sums() const;
  bool needs_row_squares() const { return rows_.needs_squares(); }
  struct Scratch {  // what one thread needs to encode a step; reused
    LayerEncoder::Scratch layer;
    compress::DeviceSelection selection;
    BodySizes dense_sizes, row_sizes;
    double layers_seconds = 0;  // of layers that agree with nobody, in the last step
    size_t agreed_bytes = 0;    // of the others
    RowEncoder::Scratch rows;
  };

  using Dense = DenseGradients;
  // Whose gradients are read on the host, in order.
  std::span<const TensorSpec* const> on_host() const { return on_host_; }

  // A body per server: parts of dense frames, then of row frames. Internal, with the layer's name,
  // where NaN or infinity flowed back: what a policy keeps of that it would never send. Biases are
  // looked at, each the sum of all that its layer got, and no weights.
  Result<std::vector<session::Body>> Encode(const Dense& dense, const data::Batch& batch,
                                            const BatchRows& rows, Scratch* scratch);

  // Trainers of a round agree on what they send of some layers; elsewhere each has a place.
  bool agrees() const { return !agreeing_.empty(); }
  std::span<LayerEncoder* const> alone() const { return alone_; }  // the layers of the others
  void SetPlace(uint32_t rank, uint32_t world) { agreeing_.SetPlace({rank, world}); }
  // Of such a round, before EncodeAgreed: takes those layers' gradients in, and says what is
  // proposed of them: a body per server, and words in the header. Fails as Encode does.
  Result<std::vector<session::Body>> Propose(const Dense& dense, const compress::Turn& turn,
                                             v1::Proposal* header);
  // In Encode's place.
  Result<std::vector<session::Body>> EncodeAgreed(const Dense& dense, const data::Batch& batch,
                                                  const BatchRows& rows, const AgreedPieces& agreed,
                                                  const v1::Agreement& words, Scratch* scratch);

  // Of a step whose layers leave as they come, on the CPU, the last tensors first: a body per
  // server of those before dense.first_gone that agree with nobody. Fails as Encode does.
  Result<std::vector<session::Body>> EncodePart(const Dense& dense, uint32_t begin,
                                                Scratch* scratch);

  // A step without a push; fails as Encode does.
  Status Accumulate(const Dense& dense, const data::Batch& batch, const BatchRows& rows);

  void FillReport(v1::WorkerReport* report) const;

  // What the policies remember, layer after layer and table after table (policy_states.h); once no
  // thread takes steps any more.
  Status SaveStates(const saved_model::TakeState& take) const;
  // Before the first step, what SaveStates gave: of this stage's layers, and under another rule the
  // residual alone. True if anything was. InvalidData when it does not fit, or comes twice.
  Result<bool> LoadState(const v1::PolicyStateHeader& header, ByteSpan state);

 private:
  Status CheckFinite(std::span<const float> dense, uint32_t begin = 0) const;
  // The rest, once it is known what leaves. is_agreed: servers know it, too.
  Result<std::vector<session::Body>> Finish(const Dense& dense, const data::Batch& batch,
                                            const BatchRows& rows, bool is_agreed,
                                            Scratch* scratch);
  void EncodeLayers(const Dense& dense, bool is_agreed, std::vector<session::BodyWriter>& writers,
                    Scratch* scratch);
  size_t DeviceIndex(const LayerEncoder& layer) const;
  compress::SquareSums SquareSumsOf(const LayerEncoder& layer) const;
  Status ReadFromDevice(const LayerEncoder& layer, std::vector<float>* residual) const;
  Status WriteToDevice(const LayerEncoder& layer, std::span<const float> residual) const;

  const ModelLayout& layout_;
  std::vector<std::unique_ptr<LayerEncoder>> layers_;
  AgreeingRules agreeing_;
  std::vector<LayerEncoder*> alone_;                    // layers that agree with nobody
  std::unique_ptr<compress::DeviceSelector> selector_;  // null: nothing is selected on a device
  std::vector<const TensorSpec*> on_host_;
  bool all_keep_residuals_ = true;
  RowEncoder rows_;
};

}  // namespace weir::worker
