#include "worker/push/layer_encoder.h"

#include "common/base/clock.h"
#include "common/compress/policy_table.h"
#include "common/wire/agreed_frame.h"

namespace weir::worker {
namespace {

uint32_t StripeCount(const PieceSpec& piece) {
  return static_cast<uint32_t>((piece.element_count + kStripeElements - 1) / kStripeElements);
}

}  // namespace

LayerEncoder::LayerEncoder(const v1::PolicyRule& rule, const ModelLayout& layout,
                           const TensorSpec& tensor, uint64_t seed, bool is_on_device)
    : layout_(layout),
      tensor_(tensor),
      rule_(rule),
      policy_(compress::MakePolicy(rule)),
      ages_(tensor.element_count()) {
  scope_.tensor = tensor.id;
  scope_.element_count = tensor.element_count();
  scope_.values = rule.values() == v1::BF16 ? wire::ValueCoding::kBf16 : wire::ValueCoding::kF32;
  scope_.seed = seed;
  scope_.is_on_device = is_on_device && (policy_->agrees() || policy_->on_device() != nullptr);
  state_ = policy_->MakeState(scope_);
}

compress::DeviceLayer LayerEncoder::ForDevice() const {
  return {.name = tensor_.name,
          .policy = policy_.get(),
          .state = state_.get(),
          .scope = &scope_,
          .offset = tensor_.offset,
          .must_be_finite = tensor_.column_count == 1};
}

template <typename TakePiece>
void LayerEncoder::WriteFrames(wire::FrameKind kind, const compress::StepPlan& plan,
                               std::vector<session::BodyWriter>& writers, Scratch* scratch,
                               const TakePiece& take_piece) {
  wire::PieceFrameWriter& writer = scratch->writer;
  const wire::ValueFormat format = policy_->value_format(scope_, plan);
  uint64_t sent = 0, bytes = 0;
  for (const PieceSpec& piece : layout_.tensor_pieces(tensor_.id)) {
    writer.Open(writers[piece.server].Next(), kind, piece.tensor,
                static_cast<uint32_t>(piece.begin),
                format.OfPiece(piece.begin, piece.element_count));
    sent += take_piece(piece, static_cast<uint32_t>(piece.begin / kStripeElements));
    const EncodeTimes::Writing timed(&scratch->times);
    if (writer.empty()) {
      writer.Discard();
    } else {
      bytes += writer.Finish();
    }
  }
  policy_->EndStep(*state_, plan, static_cast<int64_t>(sent));
  steps_.fetch_add(1, std::memory_order_relaxed);
  elements_sent_.fetch_add(sent, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void LayerEncoder::Encode(std::span<const float> gradient,
                          std::vector<session::BodyWriter>& writers, Scratch* scratch) {
  EncodePlan(Begin(gradient), gradient, writers, scratch);
}

compress::StepPlan LayerEncoder::Begin(std::span<const float> gradient) {
  const Stopwatch stopwatch(&encode_seconds_);
  return policy_->BeginStep(*state_, gradient);
}

void LayerEncoder::EncodePlan(const compress::StepPlan& plan, std::span<const float> gradient,
                              std::vector<session::BodyWriter>& writers, Scratch* scratch) {
  const Stopwatch stopwatch(&encode_seconds_);
  const auto take_piece = [&](const PieceSpec& piece, uint32_t first_stripe) {
    uint64_t sent = 0;
    const auto take = [&](uint32_t stripe, bool wait) {
      if (!Take(plan, first_stripe + stripe, gradient, wait, &scratch->selection)) return false;
      const EncodeTimes::Writing timed(&scratch->times);
      Append(scratch->selection, stripe, first_stripe + stripe, scratch->writer);
      MarkSent(scratch->selection, first_stripe + stripe);
      sent += scratch->selection.count;
      return true;
    };
    // Whatever another thread holds comes second, so that threads do not queue behind each other.
    scratch->busy_stripes.clear();
    for (uint32_t stripe = 0; stripe < StripeCount(piece); ++stripe) {
      if (!take(stripe, false)) scratch->busy_stripes.push_back(stripe);
    }
    for (const uint32_t stripe : scratch->busy_stripes) take(stripe, true);
    return sent;
  };
  WriteFrames(wire::FrameKind::kGradient, plan, writers, scratch, take_piece);
}

void LayerEncoder::EncodeAgreed(const compress::StepPlan& plan, std::span<const float> gradient,
                                std::vector<session::BodyWriter>& writers, Scratch* scratch) {
  const Stopwatch stopwatch(&encode_seconds_);
  const auto take_piece = [&](const PieceSpec& piece, uint32_t first_stripe) {
    std::vector<float>& values = scratch->agreed;
    values.clear();
    for (uint32_t stripe = 0; stripe < StripeCount(piece); ++stripe) {
      Take(plan, first_stripe + stripe, gradient, true, &scratch->selection);
      const EncodeTimes::Writing timed(&scratch->times);
      MarkSent(scratch->selection, first_stripe + stripe);
      const auto& selected = scratch->selection.values;
      values.insert(values.end(), selected.begin(), selected.begin() + scratch->selection.count);
    }
    const EncodeTimes::Writing timed(&scratch->times);
    wire::AppendAgreedValues(values, &scratch->writer);
    return uint64_t{values.size()};
  };
  WriteFrames(wire::FrameKind::kAgreedGradients, plan, writers, scratch, take_piece);
}

void LayerEncoder::MarkSent(const compress::StripeSelection& selection, uint32_t stripe) {
  const auto step = static_cast<uint32_t>(steps_ + 1);
  if (!selection.dense)
    return ages_.Mark(stripe, {selection.indexes.data(), selection.count}, step);
  ages_.MarkAll(stripe, static_cast<uint32_t>(scope_.stripe_elements(stripe)), step);
}

bool LayerEncoder::Take(const compress::StepPlan& plan, uint32_t stripe,
                        std::span<const float> gradient, bool wait,
                        compress::StripeSelection* selection) {
  if (!gradient.empty()) {
    gradient = gradient.subspan(static_cast<size_t>(stripe * kStripeElements),
                                static_cast<size_t>(scope_.stripe_elements(stripe)));
  }
  return policy_->SelectStripe(*state_, plan, stripe, gradient, wait, selection);
}

void LayerEncoder::Append(const compress::StripeSelection& selection, uint32_t stripe,
                          uint32_t stripe_of_layer, wire::PieceFrameWriter& writer) const {
  const std::span<const float> values(selection.values.data(), selection.count);
  if (selection.dense) return writer.AppendDense(stripe, values);
  writer.Append(stripe, static_cast<uint32_t>(scope_.stripe_elements(stripe_of_layer)),
                {selection.indexes.data(), selection.count}, values);
}

void LayerEncoder::EncodeSelected(const compress::DeviceSelection& selection, size_t index,
                                  size_t first_stripe, std::vector<session::BodyWriter>& writers,
                                  Scratch* scratch) {
  const Stopwatch stopwatch(&encode_seconds_);
  const auto take_piece = [&](const PieceSpec& piece, uint32_t first_of_piece) {
    uint64_t sent = 0;
    for (uint32_t stripe = 0; stripe < StripeCount(piece); ++stripe) {
      const uint32_t of_layer = first_of_piece + stripe;
      const auto selected = selection.stripe(first_stripe + of_layer);
      AppendSelected(selected, selection.is_dense[index], stripe, of_layer, scratch->writer);
      sent += selected.values.size();
    }
    return sent;
  };
  WriteFrames(wire::FrameKind::kGradient, selection.plans[index], writers, scratch, take_piece);
}

void LayerEncoder::AppendSelected(const compress::DeviceSelection::Stripe& selected, bool is_dense,
                                  uint32_t stripe, uint32_t stripe_of_layer,
                                  wire::PieceFrameWriter& writer) {
  const auto step = static_cast<uint32_t>(steps_ + 1);
  const auto elements = static_cast<uint32_t>(scope_.stripe_elements(stripe_of_layer));
  if (is_dense) {
    writer.AppendDense(stripe, selected.values);
    ages_.MarkAll(stripe_of_layer, elements, step);
  } else {
    writer.Append(stripe, elements, selected.offsets, selected.values);
    ages_.Mark(stripe_of_layer, selected.offsets, step);
  }
}

void LayerEncoder::Accumulate(std::span<const float> gradient) {
  const Stopwatch stopwatch(&encode_seconds_);
  if (!is_on_device()) policy_->Accumulate(*state_, gradient);
  steps_.fetch_add(1, std::memory_order_relaxed);
  steps_without_credit_.fetch_add(1, std::memory_order_relaxed);
}

void LayerEncoder::FillReport(v1::LayerReport* report) const {
  report->set_name(tensor_.name);
  report->set_policy(std::string(policy_->name()));
  report->set_elements(static_cast<uint64_t>(tensor_.element_count()));
  report->set_elements_sent(elements_sent_.load());
  report->set_steps(steps_.load());
  report->set_steps_without_credit(steps_without_credit_.load());
  report->set_bytes(bytes_.load());
  report->set_discarded_l1(policy_->discarded_l1(*state_));
  report->set_encode_seconds(encode_seconds_.load());
  const SentAges::Quantiles ages = ages_.After(static_cast<uint32_t>(steps_.load()));
  report->set_age_p50(ages.p50);
  report->set_age_p99(ages.p99);
  const double threshold = policy_->threshold(*state_);
  if (threshold > 0) report->set_threshold(threshold);
  if (residual() != nullptr && !is_on_device()) report->set_residual_norm(residual()->Norm());
}

}  // namespace weir::worker
