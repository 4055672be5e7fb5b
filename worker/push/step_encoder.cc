#include "worker/push/step_encoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/base/strings.h"
#include "common/compress/policy_table.h"
#include "common/compress/saved_state.h"
#include "common/config/policy_rules.h"
#include "google/protobuf/util/message_differencer.h"

namespace weir::worker {
namespace {

std::span<const float> ElementsOf(const TensorSpec& tensor, std::span<const float> dense) {
  return dense.subspan(static_cast<size_t>(tensor.offset),
                       static_cast<size_t>(tensor.element_count()));
}

// Whatever layers they are for, and however values travel.
bool IsSame(v1::PolicyRule a, v1::PolicyRule b) {
  for (v1::PolicyRule* const rule : {&a, &b}) {
    rule->clear_match();
    rule->clear_values();
  }
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

}  // namespace

struct StepEncoder::Layer {
  const TensorSpec* tensor = nullptr;
  compress::Scope scope;
  v1::PolicyRule rule;
  std::unique_ptr<const compress::Policy> policy;
  std::unique_ptr<compress::PolicyState> state;
  bool is_loaded = false;
  std::atomic<uint64_t> steps{0};
  std::atomic<uint64_t> steps_without_credit{0};
  std::atomic<uint64_t> elements_sent{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<double> encode_seconds{0};
};

StepEncoder::StepEncoder(const v1::Config& config, const ModelLayout& layout, uint32_t trainer,
                         const StageSpec& stage)
    : layout_(layout), rows_(config.compression(), layout, stage.has_interaction) {
  for (const TensorSpec& tensor :
       layout.tensors().subspan(stage.first_tensor, stage.end_tensor - stage.first_tensor)) {
    const v1::PolicyRule& rule = config::RuleForLayer(config.compression(), tensor.name);
    auto layer = std::make_unique<Layer>();
    layer->tensor = &tensor;
    layer->rule = rule;
    layer->policy = compress::MakePolicy(rule);
    compress::Scope& scope = layer->scope;
    scope.tensor = tensor.id;
    scope.element_count = tensor.element_count();
    scope.values = rule.values() == v1::BF16 ? wire::ValueCoding::kBf16 : wire::ValueCoding::kF32;
    scope.seed = KeyedHash(layout.seed(), RunStream::kPolicy, trainer);
    layer->state = layer->policy->MakeState(scope);
    all_keep_residuals_ = all_keep_residuals_ && layer->policy->keeps_residual();
    layers_.push_back(std::move(layer));
  }
}

StepEncoder::~StepEncoder() = default;

compress::SquareSumsOfTensors StepEncoder::square_sums() const {
  compress::SquareSumsOfTensors squares(layout_.tensors().size());
  bool is_asked = false;
  for (const auto& layer : layers_) {
    squares[layer->tensor->id] = layer->policy->square_sums(*layer->state);
    is_asked = is_asked || !squares[layer->tensor->id].sums.empty();
  }
  return is_asked ? squares : compress::SquareSumsOfTensors();
}

bool StepEncoder::MayWait(const data::Batch& batch) const {
  return all_keep_residuals_ && (batch.tables.empty() || rows_.keeps_rows());
}

Status StepEncoder::CheckFinite(std::span<const float> dense) const {
  for (const auto& layer : layers_) {
    const TensorSpec& tensor = *layer->tensor;
    if (tensor.column_count > 1) continue;
    const std::span<const float> values = ElementsOf(tensor, dense);
    if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) continue;
    return Internal(StrCat("the gradient of ", tensor.name,
                           " is not finite. Training has diverged: try a smaller learning rate, "
                           "and a transform for columns of large values"));
  }
  return OkStatus();
}

std::vector<session::Body> StepEncoder::Encode(std::span<const float> dense,
                                               const data::Batch& batch, const BatchRows& rows,
                                               Scratch* scratch) {
  auto dense_writers = scratch->dense_sizes.MakeWriters(layout_.server_count());
  auto row_writers = scratch->row_sizes.MakeWriters(layout_.server_count());
  for (const auto& layer : layers_) {
    EncodeLayer(*layer, ElementsOf(*layer->tensor, dense), dense_writers, scratch);
  }
  rows_.Encode(batch, rows, row_writers, &scratch->rows);
  scratch->dense_sizes.Remember(dense_writers);
  scratch->row_sizes.Remember(row_writers);
  std::vector<session::Body> bodies(layout_.server_count());
  for (size_t i = 0; i < bodies.size(); ++i) {
    dense_writers[i].MoveTo(&bodies[i]);
    row_writers[i].MoveTo(&bodies[i]);
  }
  return bodies;
}

std::vector<session::BodyWriter> StepEncoder::BodySizes::MakeWriters(size_t server_count) const {
  std::vector<session::BodyWriter> writers(server_count);
  for (size_t i = 0; i < std::min(server_count, last_.size()); ++i) {
    writers[i] = session::BodyWriter(last_[i] + last_[i] / 8);
  }
  return writers;
}

void StepEncoder::BodySizes::Remember(const std::vector<session::BodyWriter>& writers) {
  last_.resize(writers.size());
  for (size_t i = 0; i < writers.size(); ++i) last_[i] = writers[i].byte_count();
}

void StepEncoder::EncodeLayer(Layer& layer, std::span<const float> gradient,
                              std::vector<session::BodyWriter>& writers, Scratch* scratch) {
  const Stopwatch stopwatch(&layer.encode_seconds);
  const compress::StepPlan plan = layer.policy->BeginStep(*layer.state, gradient);
  const wire::ValueFormat format = layer.policy->value_format(layer.scope, plan);
  compress::StripeSelection& selection = scratch->selection;
  wire::PieceFrameWriter& writer = scratch->writer;
  uint64_t sent = 0, bytes = 0;
  for (const PieceSpec& piece : layout_.tensor_pieces(layer.tensor->id)) {
    writer.Open(writers[piece.server].Next(), wire::FrameKind::kGradient, piece.tensor,
                static_cast<uint32_t>(piece.begin),
                format.OfPiece(piece.begin, piece.element_count));
    const auto first_stripe = static_cast<uint32_t>(piece.begin / kStripeElements);
    const auto stripe_count =
        static_cast<uint32_t>((piece.element_count + kStripeElements - 1) / kStripeElements);
    auto take = [&](uint32_t stripe, bool wait) {  // stripe: within the piece
      const auto begin = static_cast<size_t>((first_stripe + stripe) * kStripeElements);
      const size_t length = std::min<size_t>(kStripeElements, gradient.size() - begin);
      const std::span<const float> part = gradient.subspan(begin, length);
      if (!layer.policy->SelectStripe(*layer.state, plan, first_stripe + stripe, part, wait,
                                      &selection)) {
        return false;
      }
      const std::span<const float> values(selection.values.data(), selection.count);
      if (selection.dense) {
        writer.AppendDense(stripe, values);
      } else {
        writer.Append(stripe, static_cast<uint32_t>(length),
                      {selection.indexes.data(), selection.count}, values);
      }
      sent += selection.count;
      return true;
    };
    // Whatever another thread holds comes second, so that threads do not queue behind each other.
    scratch->busy_stripes.clear();
    for (uint32_t stripe = 0; stripe < stripe_count; ++stripe) {
      if (!take(stripe, false)) scratch->busy_stripes.push_back(stripe);
    }
    for (const uint32_t stripe : scratch->busy_stripes) take(stripe, true);
    if (writer.empty()) {
      writer.Discard();
    } else {
      bytes += writer.Finish();
    }
  }
  layer.policy->EndStep(*layer.state, plan, static_cast<int64_t>(sent));
  layer.steps.fetch_add(1, std::memory_order_relaxed);
  layer.elements_sent.fetch_add(sent, std::memory_order_relaxed);
  layer.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void StepEncoder::Accumulate(std::span<const float> dense, const data::Batch& batch,
                             const BatchRows& rows) {
  rows_.Accumulate(batch, rows);
  for (const auto& layer : layers_) {
    const Stopwatch stopwatch(&layer->encode_seconds);
    layer->policy->Accumulate(*layer->state, ElementsOf(*layer->tensor, dense));
    layer->steps.fetch_add(1, std::memory_order_relaxed);
    layer->steps_without_credit.fetch_add(1, std::memory_order_relaxed);
  }
}

void StepEncoder::FillReport(v1::WorkerReport* report) const {
  rows_.FillReport(report->mutable_rows());
  for (const auto& layer : layers_) {
    v1::LayerReport& out = *report->add_layers();
    out.set_name(layer->tensor->name);
    out.set_policy(std::string(layer->policy->name()));
    out.set_elements(static_cast<uint64_t>(layer->tensor->element_count()));
    out.set_elements_sent(layer->elements_sent.load());
    out.set_steps(layer->steps.load());
    out.set_steps_without_credit(layer->steps_without_credit.load());
    out.set_bytes(layer->bytes.load());
    out.set_discarded_l1(layer->policy->discarded_l1(*layer->state));
    out.set_encode_seconds(layer->encode_seconds.load());
    const double threshold = layer->policy->threshold(*layer->state);
    if (threshold > 0) out.set_threshold(threshold);
  }
}

Status StepEncoder::SaveStates(const saved_model::TakeState& take) const {
  for (const auto& layer : layers_) {
    Bytes state;
    compress::SaveState(*layer->policy, *layer->state, &state);
    if (state.empty()) continue;
    v1::PolicyStateHeader header;
    header.set_name(layer->tensor->name);
    *header.mutable_rule() = layer->rule;
    header.set_has_unsent(compress::HasResidual(state));
    WEIR_RETURN_IF_ERROR(take(header, state));
  }
  return rows_.SaveStates(take);
}

Result<bool> StepEncoder::LoadState(const v1::PolicyStateHeader& header, ByteSpan state) {
  const std::string& name = header.name();
  if (config::IsTable(name)) return rows_.LoadState(name, state);
  const auto found =
      std::ranges::find_if(layers_, [&](const auto& layer) { return layer->tensor->name == name; });
  if (found == layers_.end()) return false;
  Layer& layer = **found;
  if (std::exchange(layer.is_loaded, true)) return InvalidData(StrCat(name, " comes twice"));
  const std::string policy(config::PolicyName(header.rule()));
  const bool is_same_rule = IsSame(header.rule(), layer.rule);
  const bool is_lost = !layer.policy->keeps_residual() && header.has_unsent();
  if (is_lost) {
    LOG(WARNING) << "what the policy " << policy << " had not sent of " << name
                 << " is lost: " << layer.policy->name() << " keeps nothing";
  }
  const Status loaded = compress::LoadState(*layer.policy, state, is_same_rule, layer.state.get());
  if (loaded.ok()) return is_same_rule || !is_lost;
  return InvalidData(StrCat("of ", name, ", under ", policy, ", ", loaded.message()));
}

}  // namespace weir::worker
