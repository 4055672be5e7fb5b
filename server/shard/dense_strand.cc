#include "server/shard/dense_strand.h"

#include <algorithm>
#include <utility>

#include "common/saved_model/frames.h"
#include "common/session/server_session.h"
#include "common/wire/agreed_frame.h"
#include "common/wire/piece_frame.h"
#include "server/shard/gradient_applier.h"

namespace weir::server {
namespace {

static_assert(session::kNoVersion == store::kEverything,
              "a session that knows nothing is answered with everything");

// What a thread needs while it is on a strand, whichever that is.
struct ThreadScratch {
  GradientApplier applier;
  wire::PieceFrameWriter writer;
  std::vector<float> values;
};

ThreadScratch& Scratch() {
  thread_local ThreadScratch scratch;
  return scratch;
}

}  // namespace

DenseStrand::DenseStrand(const ModelLayout& layout, const PieceSpec& spec,
                         const store::UpdateRule& rule, double max_push_norm,
                         wire::ValueCoding answer_values, size_t slot, bool awaits_load,
                         StrandArena* arena)
    : tensor_name_(layout.tensors()[spec.tensor].name),
      max_push_norm_(max_push_norm),
      piece_(layout, spec, rule, awaits_load),
      answer_values_(answer_values),
      slot_(slot),
      strand_(arena) {}

void DenseStrand::Visit(std::shared_ptr<PendingStep> pending, Outbox* outbox) {
  strand_.Post([this, pending = std::move(pending), outbox]() mutable {
    Apply(pending.get());
    if (pending->is_step) piece_.FinishPush(pending->version);
    for (size_t i = 0; i < pending->answers.size(); ++i) {
      PendingAnswer& answer = pending->answers[i];
      if (i > 0 && answer.task.since == pending->answers[i - 1].task.since) {
        answer.values[slot_] = pending->answers[i - 1].values[slot_];
      } else {
        Answer(*pending, answer.task.since, &answer.values[slot_]);
      }
    }
    FinishShare(std::move(pending), outbox);
  });
}

void DenseStrand::Apply(PendingStep* pending) {
  GradientApplier& applier = Scratch().applier;
  const std::span<const uint32_t> agreed = AgreedOf(*pending);
  const auto count = pending->contributions.size();
  for (size_t i = 0; i < count; ++i) {
    const wire::FrameView* const frame = pending->contributions[i].dense_frames[slot_];
    if (frame == nullptr) continue;
    const PieceGradient gradient{*frame, agreed, tensor_name_, max_push_norm_};
    const Result<bool> is_bounded = count == 1 ? applier.Apply(gradient, pending->version, &piece_)
                                               : applier.Add(gradient, piece_);
    if (!is_bounded.ok()) {
      pending->Fail(i, is_bounded.status());
    } else if (*is_bounded) {
      pending->CountBounded(i, {.pieces = 1, .rows = 0});
    }
  }
  if (count > 1) applier.ApplyMean(count, pending->version, &piece_);
}

void DenseStrand::BeginCut(const CutPlace& place) {
  strand_.Post([this, place] {
    cut_status_ = OkStatus();
    if (place.form == CutForm::kBits) {
      saved_model::AppendPiece(piece_.spec(), piece_.values(), piece_.state(), &cut_frames_);
      return;
    }
    cut_status_ = saved_model::CheckFinite(tensor_name_, piece_.values());
    // A saved model has one number of steps. What the stage lacks of it does not count as rest.
    const std::vector<float> state = piece_.StateAfterSkipping(place.steps - place.version);
    saved_model::AppendPiece(piece_.spec(), piece_.values(), state, &cut_frames_);
  });
}

void DenseStrand::SaveCut(std::shared_ptr<PendingSection> pending, std::shared_ptr<Outbox> outbox) {
  strand_.Post([this, pending = std::move(pending), outbox = std::move(outbox)]() mutable {
    pending->status = cut_status_;
    pending->frames = std::exchange(cut_frames_, {});
    outbox->Put(std::move(pending));
  });
}

void DenseStrand::EndCut() {
  strand_.Post([this] { cut_frames_ = {}; });
}

std::span<const uint32_t> DenseStrand::AgreedOf(const PendingStep& step) const {
  if (step.agreed == nullptr) return {};
  return step.agreed->of_strand[slot_];
}

// Who contributed knows what was agreed on, and has all that is older, but for who missed an
// answer.
void DenseStrand::Answer(const PendingStep& step, uint64_t since, Bytes* out) const {
  const std::span<const uint32_t> agreed = AgreedOf(step);
  const bool may_be_agreed = step.is_step && !agreed.empty() && since + 1 == step.version;
  if (may_be_agreed && AnswerAgreed(agreed, since, out)) return;
  AnswerChanges(since, out);
}

bool DenseStrand::AnswerAgreed(std::span<const uint32_t> agreed, uint64_t since, Bytes* out) const {
  size_t changed = 0, among_agreed = 0;
  piece_.ForEachChangedStripe(since, [&](const store::ChangedStripe& stripe) {
    changed += stripe.values.size();
    if (stripe.dense) return;
    const auto first = static_cast<uint32_t>(stripe.stripe * kStripeElements);
    auto next = std::ranges::lower_bound(agreed, first);
    for (const uint16_t index : stripe.indexes) {
      while (next != agreed.end() && *next < first + index) ++next;
      if (next != agreed.end() && *next == first + index) ++among_agreed;
    }
  });
  if (changed == 0 || among_agreed != changed) return false;
  std::vector<float>& values = Scratch().values;
  values.clear();
  for (const uint32_t offset : agreed) values.push_back(piece_.values()[offset]);
  const PieceSpec& spec = piece_.spec();
  wire::AppendAgreed(out, wire::FrameKind::kAgreedValues, spec.tensor,
                     static_cast<uint32_t>(spec.begin), answer_values_, values, &Scratch().writer);
  return true;
}

void DenseStrand::AnswerChanges(uint64_t since, Bytes* out) const {
  const PieceSpec& spec = piece_.spec();
  wire::PieceFrameWriter& writer = Scratch().writer;
  writer.Open(out, wire::FrameKind::kValues, spec.tensor, static_cast<uint32_t>(spec.begin),
              answer_values_);
  piece_.ForEachChangedStripe(since, [&](const store::ChangedStripe& stripe) {
    if (stripe.dense) {
      writer.AppendDense(stripe.stripe, stripe.values);
    } else {
      writer.Append(stripe.stripe, static_cast<uint32_t>(stripe.element_count), stripe.indexes,
                    stripe.values);
    }
  });
  if (writer.empty()) {
    writer.Discard();
  } else {
    writer.Finish();
  }
}

}  // namespace weir::server
