#include "tools/bench/select_layer.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/compress/policy_table.h"
#include "common/config/defaults.h"
#include "common/device/cpu_device.h"
#include "tools/bench/measure.h"

namespace weir::bench {
namespace {

constexpr int64_t kRowElements = 512;
constexpr int64_t kRows = 8;                      // of different scale; then they repeat
constexpr int64_t kShift = kRowElements * kRows;  // between windows: every element keeps its scale
constexpr int64_t kWindows = 32;
constexpr size_t kDrawn = 64;  // elements that are copied from the table of normal numbers at once
constexpr double kDensityTolerance = 0.15;

v1::PolicyRule WithDefaults(v1::PolicyRule rule) {
  config::FillDefaults(&rule);
  return rule;
}

// Of the elements of its row.
float ScaleAt(size_t element) {
  const auto row = static_cast<int64_t>(element) / kRowElements % kRows;
  return 1e-3f * (0.5f + static_cast<float>(row) / kRows);
}

// The layer's residual by the definition of the policy.
class PlainLoop {
 public:
  explicit PlainLoop(const SelectOptions& options)
      : values_(options.values), residual_(static_cast<size_t>(options.element_count)) {}

  void Add(std::span<const float> gradient) {
    for (size_t i = 0; i < residual_.size(); ++i) residual_[i] += gradient[i];
  }

  // Whether selection is what threshold selects of the stripe, and takes it out.
  bool Takes(uint32_t stripe, float threshold, const compress::StripeSelection& selection) {
    const size_t first = stripe * static_cast<size_t>(kStripeElements);
    const size_t size = std::min<size_t>(kStripeElements, residual_.size() - first);
    uint32_t taken = 0;
    for (size_t i = 0; i < size; ++i) {
      float& left = residual_[first + i];
      if (std::fabs(left) < threshold) continue;
      const float value = wire::Round(left, values_);
      if (taken == selection.count || selection.indexes[taken] != i ||
          selection.values[taken] != value) {
        return false;
      }
      left -= value;
      ++taken;
    }
    return taken == selection.count;
  }

 private:
  const wire::ValueCoding values_;
  std::vector<float> residual_;
};

bool IsSame(const wire::StripeUpdate& update, const compress::StripeSelection& selection) {
  const std::span values(selection.values.data(), selection.count);
  const std::span indexes(selection.indexes.data(), update.dense ? 0 : selection.count);
  return update.dense == selection.dense && std::ranges::equal(update.values, values) &&
         std::ranges::equal(update.indexes, indexes);
}

}  // namespace

v1::PolicyRule DctRule(int percent, int32_t lifespan) {
  v1::PolicyRule rule;
  rule.mutable_dct()->set_sparsity(percent / 100.0);
  rule.mutable_dct()->set_lifespan(lifespan);
  rule.mutable_dct()->set_drain(v1::DctPolicy::NO_DRAIN);
  return rule;
}

Gradients::Gradients(int64_t element_count)
    : element_count_(element_count),
      values_(static_cast<size_t>((element_count / kShift + 1 + kWindows) * kShift)) {
  RandomStream random(1);
  std::vector<float> normal(1 << 18);
  for (float& value : normal) value = static_cast<float>(random.NextNormal());
  for (size_t i = 0; i < values_.size(); i += kDrawn) {
    const float* const drawn = &normal[random.NextBelow(normal.size() - kDrawn)];
    const float scale = ScaleAt(i);
    for (size_t k = 0; k < kDrawn; ++k) values_[i + k] = scale * drawn[k];
  }
}

std::span<const float> Gradients::Next() {
  window_ = (window_ + 13) % kWindows;
  return values_.span().subspan(static_cast<size_t>(window_ * kShift),
                                static_cast<size_t>(element_count_));
}

void Gradients::AddSquares(const compress::SquareSums& squares) const {
  const std::span<float> sums = device::OnHost(squares.sums);
  for (size_t begin = 0; begin < sums.size(); begin += kRowElements) {
    const size_t end = std::min(sums.size(), begin + kRowElements);
    const float square = ScaleAt(begin) * ScaleAt(begin);
    for (size_t i = begin; i < end; ++i) sums[i] = sums[i] * squares.decay + square;
  }
}

SelectLayer::SelectLayer(const SelectOptions& options, Gradients& gradients)
    : SelectLayer(options, compress::MakePolicy(WithDefaults(options.rule)), gradients) {}

SelectLayer::SelectLayer(const SelectOptions& options,
                         std::unique_ptr<const compress::Policy> policy, Gradients& gradients)
    : options_(options),
      policy_(std::move(policy)),
      scope_{
          .tensor = 0, .element_count = options.element_count, .values = options.values, .seed = 7},
      state_(policy_->MakeState(scope_)),
      proposer_(policy_->MakeProposer({&scope_.element_count, 1})),
      residuals_({policy_->residual(*state_)}),
      selection_(std::make_unique<compress::StripeSelection>()),
      gradients_(gradients) {}

void SelectLayer::Agree(compress::StepPlan* plan) {
  const compress::Turn turn = {.step = plan->step};
  proposer_->Propose(turn, residuals_, &proposal_);
  const ByteSpan note = proposal_.note;
  proposer_->Learn(
      turn,
      {.union_count = proposal_.indexes[0].size(), .word = proposal_.word, .notes = {&note, 1}});
  plan->agreed = proposal_.indexes[0];
}

void SelectLayer::Step(std::span<const float> gradient, const Observe* observe) {
  compress::StepPlan plan = policy_->BeginStep(*state_, gradient);
  if (proposer_) Agree(&plan);
  const wire::ValueFormat format = policy_->value_format(scope_, plan);
  int64_t sent = 0;
  frames_.clear();
  for (uint32_t stripe = 0; stripe < scope_.stripe_count(); ++stripe) {
    const auto part = gradient.subspan(static_cast<size_t>(stripe * kStripeElements),
                                       static_cast<size_t>(scope_.stripe_elements(stripe)));
    CHECK(policy_->SelectStripe(*state_, plan, stripe, part, /*wait=*/true, selection_.get()));
    KeepAlive(selection_.get());
    if (observe != nullptr) (*observe)(stripe, *selection_);
    if (options_.encodes) {
      if (stripe % kPieceStripes == 0) OpenFrame(format, stripe);
      Append(stripe);
      const uint32_t next = stripe + 1;
      if (next % kPieceStripes == 0 || next == scope_.stripe_count()) CloseFrame();
    }
    sent += selection_->count;
  }
  policy_->EndStep(*state_, plan, sent);
  frame_bytes_ += std::ssize(frames_);
  sent_ += sent;
  ++steps_;
}

void SelectLayer::Steps(int count) {
  for (int i = 0; i < count; ++i) Step(NextGradient(), nullptr);
}

double SelectLayer::TimedSteps(int count) {
  double seconds = 0;
  for (int i = 0; i < count; ++i) {
    const std::span<const float> gradient = NextGradient();
    seconds += Seconds([&] { Step(gradient, nullptr); });
  }
  return seconds;
}

// As a backward pass leaves it.
std::span<const float> SelectLayer::NextGradient() {
  gradients_.AddSquares(policy_->square_sums(*state_));
  return gradients_.Next();
}

void SelectLayer::AccumulateSteps(int count) {
  for (int i = 0; i < count; ++i) policy_->Accumulate(*state_, NextGradient());
}

int64_t SelectLayer::PieceElements(int64_t begin) const {
  return std::min(kPieceStripes * kStripeElements, scope_.element_count - begin);
}

void SelectLayer::OpenFrame(const wire::ValueFormat& format, uint32_t stripe) {
  const int64_t begin = stripe * kStripeElements;
  writer_.Open(&frames_, wire::FrameKind::kGradient, 0, static_cast<uint32_t>(begin),
               format.OfPiece(begin, PieceElements(begin)));
}

void SelectLayer::Append(uint32_t stripe) {
  const uint32_t in_piece = stripe % kPieceStripes;
  if (selection_->dense) {
    return writer_.AppendDense(in_piece, {selection_->values.data(), selection_->count});
  }
  writer_.Append(in_piece, static_cast<uint32_t>(scope_.stripe_elements(stripe)),
                 {selection_->indexes.data(), selection_->count},
                 {selection_->values.data(), selection_->count});
}

void SelectLayer::CloseFrame() {
  if (writer_.empty()) return writer_.Discard();
  writer_.Finish();
}

Status SelectLayer::CheckFrames() {
  std::vector<compress::StripeSelection> selected(scope_.stripe_count());
  const Observe keep = [&](uint32_t stripe, const compress::StripeSelection& selection) {
    selected[stripe] = selection;
  };
  Step(NextGradient(), &keep);
  wire::PieceFrameReader reader;
  wire::FrameCursor cursor(frames_);
  size_t found = 0, expected = 0;
  for (const compress::StripeSelection& each : selected) expected += each.count;
  while (!cursor.done()) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
    const int64_t begin = frame.header.begin;
    WEIR_RETURN_IF_ERROR(reader.Read(frame, static_cast<uint32_t>(PieceElements(begin))));
    for (const wire::StripeUpdate& update : reader.stripes()) {
      const auto stripe = static_cast<uint32_t>(begin / kStripeElements) + update.stripe;
      if (!IsSame(update, selected[stripe])) {
        return Internal(StrCat("stripe ", stripe, " is not decoded as it was selected"));
      }
      found += update.values.size();
    }
  }
  if (found == expected) return OkStatus();
  return Internal(
      StrCat("policies: ", found, " of ", expected, " selected elements are in frames"));
}

double SelectLayer::BitsPerElement() const {
  return 8 * static_cast<double>(frame_bytes_) / static_cast<double>(sent_);
}

double SelectLayer::density() const {
  return static_cast<double>(sent_) / static_cast<double>(steps_ * scope_.element_count);
}

Status SelectLayer::CheckDensity(int percent) {
  const double wanted = 1 - percent / 100.0;
  const double realised = density();
  Forget();
  if (std::fabs(realised / wanted - 1) <= kDensityTolerance) return OkStatus();
  return Internal(StrCat("a density of ", realised, " instead of ", wanted));
}

Status SelectLayer::CheckAgainstPlainLoop(int count) {
  CHECK_EQ(steps_, 0);
  PlainLoop plain(options_);
  for (int step = 0; step < count; ++step) {
    const std::span<const float> gradient = NextGradient();
    plain.Add(gradient);
    bool same = true;
    const Observe compare = [&](uint32_t stripe, const compress::StripeSelection& selection) {
      const auto threshold = static_cast<float>(policy_->threshold(*state_));
      same = same && plain.Takes(stripe, threshold, selection);
    };
    Step(gradient, &compare);
    if (!same) return Internal(StrCat("step ", step, " differs from the plain loop"));
  }
  return OkStatus();
}

}  // namespace weir::bench
