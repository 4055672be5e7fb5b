#include "server/dense_strand.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/strings.h"
#include "common/session/server_session.h"
#include "common/wire/piece_frame.h"

namespace weir::server {
namespace {

static_assert(session::kNoVersion == store::kEverything,
              "a session that knows nothing is answered with everything");
static_assert(wire::kMaxBlockElements == kStripeElements, "a block is a stripe");

bool AllFinite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

}  // namespace

DenseStrand::DenseStrand(const ModelLayout& layout, const PieceSpec& spec,
                         const store::UpdateRule& rule, wire::ValueCoding answer_values,
                         size_t slot, StrandArena* arena)
    : tensor_name_(layout.tensors()[spec.tensor].name),
      piece_(layout, spec, rule),
      answer_values_(answer_values),
      slot_(slot),
      strand_(arena) {}

void DenseStrand::Visit(std::shared_ptr<PendingAnswer> pending, Outbox* outbox) {
  strand_.Post([this, pending = std::move(pending), outbox]() mutable {
    if (const wire::FrameView* frame = pending->dense_frames[slot_]) {
      if (Status status = Apply(*frame, pending->version); !status.ok()) {
        pending->Fail(std::move(status));
      }
    }
    Answer(pending->task.since, &pending->answers[slot_]);
    FinishPart(std::move(pending), outbox);
  });
}

Status DenseStrand::Apply(const wire::FrameView& frame, uint64_t version) {
  const auto elements = static_cast<uint32_t>(piece_.spec().element_count);
  // The whole frame first: a frame is applied entirely or not at all.
  WEIR_RETURN_IF_ERROR(wire::ForEachBlock(frame, elements, [&](const wire::Block& block) {
    if (AllFinite(block.values)) return OkStatus();
    return InvalidData(StrCat("a gradient of ", tensor_name_, " is NaN or infinite"));
  }));
  return wire::ForEachBlock(frame, elements, [&](const wire::Block& block) {
    if (block.dense) {
      piece_.ApplyDense(block.stripe, block.values, version);
    } else {
      piece_.ApplySparse(block.stripe, block.indexes, block.values, version);
    }
    return OkStatus();
  });
}

void DenseStrand::Answer(uint64_t since, Bytes* out) const {
  const PieceSpec& spec = piece_.spec();
  wire::PieceFrameWriter writer(out, wire::FrameKind::kValues, spec.tensor,
                                static_cast<uint32_t>(spec.begin), answer_values_);
  std::array<float, kStripeElements> rounded;
  piece_.ForEachChangedStripe(since, [&](const store::ChangedStripe& stripe) {
    std::transform(stripe.values.begin(), stripe.values.end(), rounded.begin(),
                   [&](float value) { return wire::Round(value, answer_values_); });
    const std::span<const float> values(rounded.data(), stripe.values.size());
    if (stripe.dense) {
      writer.AppendDenseBlock(stripe.stripe, values);
    } else if (!stripe.indexes.empty()) {
      writer.AppendBlock(stripe.stripe, static_cast<uint32_t>(stripe.element_count), stripe.indexes,
                         values);
    }
  });
  if (writer.empty()) {
    writer.Discard();
  } else {
    writer.Finish();
  }
}

}  // namespace weir::server
