#include "worker/push/agreeing_layers.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/compress/host_range_select.h"
#include "common/wire/element_ids.h"

namespace weir::worker {
namespace {

ByteSpan BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string TextOf(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

AgreeingLayers::AgreeingLayers(const ModelLayout& layout, const kernels::Compute& compute,
                               std::vector<LayerEncoder*> layers)
    : layout_(layout), layers_(std::move(layers)), union_(layers_.size()), plans_(layers_.size()) {
  std::vector<int64_t> counts;
  for (LayerEncoder* const layer : layers_) counts.push_back(layer->tensor().element_count());
  KeepResiduals(compute);
  proposer_ = layers_[0]->policy().MakeProposer(counts);
  CHECK(proposer_ != nullptr) << layers_[0]->policy().name();
}

// All layers of a rule are where the first is.
void AgreeingLayers::KeepResiduals(const kernels::Compute& compute) {
  if (!layers_[0]->is_on_device()) {
    std::vector<compress::Residual*> residuals;
    for (LayerEncoder* const layer : layers_) residuals.push_back(layer->residual());
    on_host_ = std::make_unique<compress::HostRangeSelect>(std::move(residuals));
    return;
  }
  std::vector<compress::DeviceLayer> layers;
  for (const LayerEncoder* const layer : layers_) layers.push_back(layer->ForDevice());
  on_device_ = std::make_unique<compress::DeviceAgreed>(compute, std::move(layers),
                                                        layout_.flat_element_count());
}

Status AgreeingLayers::Begin(const compress::Turn& turn, const DenseGradients& dense) {
  turn_ = turn;
  if (on_device_) WEIR_RETURN_IF_ERROR(on_device_->Begin(*dense.stream, dense.on_device));
  for (size_t i = 0; i < layers_.size(); ++i) {
    plans_[i] = layers_[i]->Begin(layers_[i]->GradientIn(dense.on_host));
  }
  proposal_.indexes.resize(layers_.size());
  for (std::vector<uint32_t>& indexes : proposal_.indexes) indexes.clear();
  proposal_.word.clear();
  proposal_.note.clear();
  proposer_->Propose(turn_, on_device_ ? on_device_->residuals() : *on_host_, &proposal_);
  TellWhatIsClamped();
  return on_device_ ? on_device_->status() : OkStatus();
}

void AgreeingLayers::TellWhatIsClamped() {
  std::string clamped = proposer_->Clamped();
  if (clamped == told_clamped_) return;
  told_clamped_ = std::move(clamped);
  if (!told_clamped_.empty()) {
    LOG(WARNING) << "the rule of " << layers_[0]->tensor().name
                 << (layers_.size() > 1 ? " and others: " : ": ") << told_clamped_;
  }
}

void AgreeingLayers::AppendProposal(std::vector<session::BodyWriter>& writers,
                                    v1::PolicyWord* word) const {
  std::vector<uint32_t> offsets;
  for (size_t i = 0; i < layers_.size(); ++i) {
    auto next = proposal_.indexes[i].begin();
    for (const PieceSpec& piece : layout_.tensor_pieces(layers_[i]->tensor().id)) {
      const auto begin = static_cast<uint32_t>(piece.begin);
      const auto end = static_cast<uint32_t>(piece.begin + piece.element_count);
      offsets.clear();
      for (; next != proposal_.indexes[i].end() && *next < end; ++next) {
        offsets.push_back(*next - begin);
      }
      if (offsets.empty()) continue;
      wire::AppendElementIds(writers[piece.server].Next(), piece.tensor, begin, offsets);
    }
  }
  word->set_word(TextOf(proposal_.word));
  word->set_note(TextOf(proposal_.note));
}

void AgreeingLayers::Learn(const AgreedPieces& agreed, const v1::AgreedWord& word) {
  uint64_t count = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    union_[i].clear();
    for (const PieceSpec& piece : layout_.tensor_pieces(layers_[i]->tensor().id)) {
      for (const uint32_t offset : agreed.of_piece[piece.id]) {
        union_[i].push_back(static_cast<uint32_t>(piece.begin) + offset);
      }
    }
    count += union_[i].size();
  }
  std::vector<ByteSpan> notes(turn_.world);
  const auto told = std::min<size_t>(notes.size(), static_cast<size_t>(word.notes_size()));
  for (size_t rank = 0; rank < told; ++rank)
    notes[rank] = BytesOf(word.notes(static_cast<int>(rank)));
  Learn(count, BytesOf(word.word()), notes);
}

void AgreeingLayers::LearnOwn() {
  uint64_t count = 0;
  union_ = proposal_.indexes;
  for (const std::vector<uint32_t>& indexes : union_) count += indexes.size();
  std::vector<ByteSpan> notes(turn_.world);
  notes[turn_.rank] = proposal_.note;
  Learn(count, proposal_.word, notes);
}

void AgreeingLayers::Learn(uint64_t union_count, ByteSpan word, std::span<const ByteSpan> notes) {
  proposer_->Learn(turn_, {.union_count = union_count, .word = word, .notes = notes});
  for (size_t i = 0; i < layers_.size(); ++i) plans_[i].agreed = union_[i];
}

Status AgreeingLayers::Take(const DenseGradients& dense) {
  if (!on_device_) return OkStatus();
  WEIR_RETURN_IF_ERROR(on_device_->Take(*dense.stream, union_));
  for (size_t i = 0; i < layers_.size(); ++i) plans_[i].taken = on_device_->taken(i);
  return OkStatus();
}

Status AgreeingLayers::Accumulate(const DenseGradients& dense) {
  return on_device_ ? on_device_->Accumulate(*dense.stream, dense.on_device) : OkStatus();
}

}  // namespace weir::worker
