// One layer of a step: its gradient through its policy, what was selected through its coding, each
// frame to the server that owns the piece; and what is counted of it.
//
// Place in the life of a batch: backward -> **residual += gradient -> select -> encode** -> push.
// Thread rule: any thread, each with its own scratch; loading and saving when no thread takes
// steps. Borrows the layout.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/compress/device_selector.h"
#include "common/compress/policy.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/proto/policy_state.pb.h"
#include "common/proto/report.pb.h"
#include "common/session/body.h"
#include "common/wire/piece_frame.h"
#include "worker/push/encode_times.h"
#include "worker/push/sent_ages.h"

namespace weir::worker {

class LayerEncoder {
 public:
  struct Scratch {
    compress::StripeSelection selection;
    std::vector<uint32_t> busy_stripes;
    wire::PieceFrameWriter writer;
    std::vector<float> agreed;
    EncodeTimes times;
  };

  // seed: of its random choices. is_on_device: a device has its residual, if its policy can be
  // selected for there.
  LayerEncoder(const v1::PolicyRule& rule, const ModelLayout& layout, const TensorSpec& tensor,
               uint64_t seed, bool is_on_device);

  const TensorSpec& tensor() const { return tensor_; }
  const compress::Policy& policy() const { return *policy_; }
  bool is_on_device() const { return scope_.is_on_device; }
  // The layer's part of flat gradients that are read on the host; empty where a device has it.
  std::span<const float> GradientIn(std::span<const float> dense) const {
    if (is_on_device()) return {};
    return dense.subspan(static_cast<size_t>(tensor_.offset),
                         static_cast<size_t>(tensor_.element_count()));
  }
  compress::SquareSums square_sums() const { return policy_->square_sums(*state_); }
  compress::DeviceLayer ForDevice() const;
  // Null where nothing is kept, or not here.
  compress::Residual* residual() const { return policy_->residual(*state_); }

  // gradient: the layer's, as GradientIn gives it.
  void Encode(std::span<const float> gradient, std::vector<session::BodyWriter>& writers,
              Scratch* scratch);
  // The same in two phases, of a policy with a proposer: between them it is decided what leaves.
  compress::StepPlan Begin(std::span<const float> gradient);
  void EncodePlan(const compress::StepPlan& plan, std::span<const float> gradient,
                  std::vector<session::BodyWriter>& writers, Scratch* scratch);
  // And where servers know what that is.
  void EncodeAgreed(const compress::StepPlan& plan, std::span<const float> gradient,
                    std::vector<session::BodyWriter>& writers, Scratch* scratch);
  // What the selector selected; the layer's number and its first stripe there.
  void EncodeSelected(const compress::DeviceSelection& selection, size_t index, size_t first_stripe,
                      std::vector<session::BodyWriter>& writers, Scratch* scratch);
  // A step without a push; of a layer on a device it is only counted here.
  void Accumulate(std::span<const float> gradient);

  // Reads all of the residual. That of a device is not fetched for a report, and has no norm there.
  void FillReport(v1::LayerReport* report) const;

  // residual_elsewhere: where it is on a device.
  void Save(std::span<const float> residual_elsewhere, v1::PolicyStateHeader* header,
            Bytes* state) const;
  // See StepEncoder::LoadState. residual_elsewhere: filled where it is on a device and there was
  // one.
  Result<bool> Load(const v1::PolicyStateHeader& header, ByteSpan state,
                    std::vector<float>* residual_elsewhere);

 private:
  // A frame for each piece, of what take_piece(piece, its first stripe in the layer) appends to the
  // writer; it returns how many elements those are.
  template <typename TakePiece>
  void WriteFrames(wire::FrameKind kind, const compress::StepPlan& plan,
                   std::vector<session::BodyWriter>& writers, Scratch* scratch,
                   const TakePiece& take_piece);
  // As Policy::SelectStripe, of a stripe of the layer.
  bool Take(const compress::StepPlan& plan, uint32_t stripe, std::span<const float> gradient,
            bool wait, compress::StripeSelection* selection);
  void AppendSelected(const compress::DeviceSelection::Stripe& selected, bool is_dense,
                      uint32_t stripe, uint32_t stripe_of_layer, wire::PieceFrameWriter& writer);
  // Something of this stripe leaves.
  void MarkSent(const compress::StripeSelection& selection, uint32_t stripe);
  // stripe: within its piece.
  void Append(const compress::StripeSelection& selection, uint32_t stripe, uint32_t stripe_of_layer,
              wire::PieceFrameWriter& writer) const;

  const ModelLayout& layout_;
  const TensorSpec& tensor_;
  const v1::PolicyRule rule_;
  const std::unique_ptr<const compress::Policy> policy_;
  compress::Scope scope_;
  std::unique_ptr<compress::PolicyState> state_;
  bool is_loaded_ = false;
  SentAges ages_;
  std::atomic<uint64_t> steps_{0}, steps_without_credit_{0}, elements_sent_{0}, bytes_{0};
  std::atomic<double> encode_seconds_{0};
};

}  // namespace weir::worker
