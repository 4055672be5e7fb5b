// All layers whose policies agree with other trainers on what they send, by rule.
//
// Place in the life of a batch: residual += gradient -> **propose -> union** -> take -> encode.
// Thread rule: any thread; Propose and Learn of one step at a time. Borrows the layers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/session/body.h"
#include "worker/link/agreed_pieces.h"
#include "worker/push/agreeing_layers.h"
#include "worker/push/dense_gradients.h"

namespace weir::worker {

class AgreeingRules {
 public:
  AgreeingRules(const ModelLayout& layout, const kernels::Compute& compute)
      : layout_(layout), compute_(compute) {}

  // False: the layer's policy agrees with nobody, and it is not taken.
  bool TryAdd(const v1::PolicyRule& rule, LayerEncoder* layer);
  // Once all are there.
  void Finish();
  bool empty() const { return rules_.empty(); }

  // Of a round: a body of proposals per server, and words in the header; then what came of them.
  Result<std::vector<session::Body>> Propose(const compress::Turn& turn,
                                             const DenseGradients& dense, v1::Proposal* header);
  void Learn(const AgreedPieces& agreed, const v1::Agreement& words);
  // Which of how many trainers this one is, where nobody is asked. Any thread; alone until then.
  struct alignas(uint64_t) Place {  // so that it is atomic without a library
    uint32_t rank = 0;
    uint32_t world = 1;
  };
  void SetPlace(const Place& place) { place_ = place; }
  // Nobody is asked. The layers are this step's while the locks are held.
  Result<std::vector<std::unique_lock<std::mutex>>> ProposeAlone(const DenseGradients& dense);
  // Of either, once it is known what leaves (AgreeingLayers::Take).
  Status Take(const DenseGradients& dense);

  // A step without a push, of the rules that a device has.
  Status Accumulate(const DenseGradients& dense);
  // A residual that a device has; null: another layer's. With the layer's number there.
  compress::DeviceAgreed* FindOnDevice(const LayerEncoder& layer, size_t* number) const;

  // Calls visit(layer, plan) for each.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& rule : rules_) {
      for (size_t i = 0; i < rule->layers().size(); ++i) visit(*rule->layers()[i], rule->plan(i));
    }
  }

 private:
  const ModelLayout& layout_;
  const kernels::Compute compute_;
  std::atomic<Place> place_;
  std::vector<std::pair<const v1::PolicyRule*, std::vector<LayerEncoder*>>> added_;
  std::vector<std::unique_ptr<AgreeingLayers>> rules_;
};

}  // namespace weir::worker
