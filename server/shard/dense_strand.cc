#include "server/shard/dense_strand.h"

#include "common/saved_model/frames.h"
#include "common/session/server_session.h"
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
};

ThreadScratch& Scratch() {
  thread_local ThreadScratch scratch;
  return scratch;
}

}  // namespace

DenseStrand::DenseStrand(const ModelLayout& layout, const PieceSpec& spec,
                         const store::UpdateRule& rule, wire::ValueCoding answer_values,
                         size_t slot, bool awaits_load, StrandArena* arena)
    : tensor_name_(layout.tensors()[spec.tensor].name),
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
        Answer(answer.task.since, &answer.values[slot_]);
      }
    }
    FinishShare(std::move(pending), outbox);
  });
}

void DenseStrand::Apply(PendingStep* pending) {
  GradientApplier& applier = Scratch().applier;
  const auto count = pending->contributions.size();
  for (size_t i = 0; i < count; ++i) {
    const wire::FrameView* const frame = pending->contributions[i].dense_frames[slot_];
    if (frame == nullptr) continue;
    Status status = count == 1 ? applier.Apply(*frame, pending->version, tensor_name_, &piece_)
                               : applier.Add(*frame, tensor_name_, piece_);
    if (!status.ok()) pending->Fail(i, std::move(status));
  }
  if (count > 1) applier.ApplyMean(count, pending->version, &piece_);
}

void DenseStrand::Save(std::shared_ptr<PendingSection> pending, Outbox* outbox) {
  strand_.Post([this, pending = std::move(pending), outbox]() mutable {
    pending->status = saved_model::CheckFinite(tensor_name_, piece_.values());
    // A saved model has one number of steps. What the stage lacks of it does not count as rest.
    const std::vector<float> state = piece_.StateAfterSkipping(pending->steps - pending->version);
    saved_model::AppendPiece(piece_.spec(), piece_.values(), state, &pending->frames);
    outbox->Put(std::move(pending));
  });
}

void DenseStrand::Answer(uint64_t since, Bytes* out) const {
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
