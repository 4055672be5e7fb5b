#include "common/compress/exdyna_state.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

namespace weir::compress {
namespace {

// In steps 1, 2, 4, 8, ...: so long what is kept grows, then corrections suffice. A trainer that
// agrees with nobody has taken more from some partitions than from others, so a quantile of all is
// no longer that of the next.
constexpr uint64_t kLastRenewal = 1024, kLastRenewalAlone = 64;

// What was sent beyond the target is made good over so many steps, and at most so many targets.
constexpr int64_t kSurplusSteps = 32, kMostSurplus = 8;

// As a 32-bit number it must be above 0 and finite too.
bool IsThreshold(double value) {
  return value >= static_cast<double>(std::numeric_limits<float>::denorm_min()) &&
         value <= static_cast<double>(std::numeric_limits<float>::max());
}

// By rank; nothing of those who told none.
std::vector<std::optional<ExDynaNote>> HearAll(const Turn& turn, const Agreement& agreement,
                                               int64_t element_count) {
  std::vector<std::optional<ExDynaNote>> notes(turn.world);
  const size_t told = std::min<size_t>(notes.size(), agreement.notes.size());
  for (size_t rank = 0; rank < told; ++rank) {
    notes[rank] = ExDynaNote::Hear(agreement.notes[rank], element_count);
  }
  return notes;
}

// By rank. Who told none counts as the mean of the others, so that no block moves for it.
std::vector<int64_t> CountsOf(const std::vector<std::optional<ExDynaNote>>& notes) {
  int64_t sum = 0, told = 0;
  for (const auto& note : notes) {
    if (!note) continue;
    sum += note->count;
    ++told;
  }
  std::vector<int64_t> counts;
  counts.reserve(notes.size());
  for (const auto& note : notes)
    counts.push_back(note ? note->count : sum / std::max<int64_t>(1, told));
  return counts;
}

// In the order of ranks, so that all have the same sum.
std::optional<double> MeanQuantile(const std::vector<std::optional<ExDynaNote>>& notes) {
  double sum = 0;
  int64_t told = 0;
  for (const auto& note : notes) {
    if (!note || !note->quantile) continue;
    sum += *note->quantile;
    ++told;
  }
  if (told == 0) return std::nullopt;
  return sum / static_cast<double>(told);
}

}  // namespace

Bytes ExDynaNote::Tell() const {
  Bytes told;
  ByteWriter writer(told);
  writer.PutVarint(static_cast<uint64_t>(count));
  if (quantile) writer.Put(*quantile);
  return told;
}

std::optional<ExDynaNote> ExDynaNote::Hear(ByteSpan told, int64_t element_count) {
  ByteReader reader(told);
  const uint64_t count = reader.GetVarint();
  if (!reader.ok() || count > static_cast<uint64_t>(element_count)) return std::nullopt;
  ExDynaNote note = {.count = static_cast<int64_t>(count)};
  if (reader.remaining() == 0) return note;
  const auto quantile = reader.Get<double>();
  if (!reader.ok() || reader.remaining() > 0 || !IsThreshold(quantile)) return std::nullopt;
  note.quantile = quantile;
  return note;
}

ExDynaState::ExDynaState(int64_t element_count, const ExDynaOptions& options,
                         std::optional<double> threshold)
    : element_count_(element_count),
      options_(options),
      is_of_quantiles_(!threshold),
      threshold_(threshold),
      blocks_(element_count, 1, options.blocks) {}

void ExDynaState::Fit(uint32_t world) {
  if (blocks_.partition_count() == static_cast<int>(world)) return;
  blocks_ = ExDynaBlocks(element_count_, static_cast<int>(world), options_.blocks);
}

Bytes ExDynaState::Tell(uint64_t step) const {
  Bytes word;
  if (next_step_ == 0 || next_step_ != step || !threshold_) return word;
  ByteWriter writer(word);
  writer.Put(next_step_);
  writer.Put(*threshold_);
  writer.Put(static_cast<uint64_t>(surplus_));
  writer.PutVarint(static_cast<uint64_t>(blocks_.partition_count()));
  blocks_.Save(&writer);
  return word;
}

// Of blocks for another number of trainers nothing is left when it fits itself to a step.
void ExDynaState::TakeOver(uint64_t step, ByteSpan word) {
  ByteReader reader(word);
  const auto next_step = reader.Get<uint64_t>();
  const auto threshold = reader.Get<double>();
  const auto surplus = static_cast<int64_t>(reader.Get<uint64_t>());
  const uint64_t partitions = reader.GetVarint();
  if (!reader.ok() || next_step != step || !IsThreshold(threshold)) return;
  if (partitions != static_cast<uint64_t>(blocks_.partition_count())) return;
  ExDynaBlocks blocks = blocks_;
  if (!blocks.Load(&reader) || reader.remaining() > 0) return;
  blocks_ = blocks;
  threshold_ = threshold;
  surplus_ = 0;
  CarryOver(std::clamp(surplus, -element_count_ * kMostSurplus, element_count_ * kMostSurplus));
}

void ExDynaState::Learn(const Turn& turn, const Agreement& agreement) {
  Fit(turn.world);
  TakeOver(turn.step, agreement.word);
  const auto notes = HearAll(turn, agreement, element_count_);
  blocks_.Rebalance(ExDynaCountsByPartition(static_cast<int64_t>(turn.step), CountsOf(notes)));
  const std::optional<double> mean = MeanQuantile(notes);
  if (threshold_ && !(renews(turn) && mean)) {
    Correct(turn, agreement);
  } else {
    threshold_ = mean;
    if (turn.agrees) CarryOver(UsableCount(agreement) - options_.target);
    unjudged_ = {};
  }
  next_step_ = turn.step + 1;
}

int64_t ExDynaState::UsableCount(const Agreement& agreement) const {
  return static_cast<int64_t>(
      std::min(agreement.union_count, static_cast<uint64_t>(element_count_)));
}

void ExDynaState::Correct(const Turn& turn, const Agreement& agreement) {
  unjudged_.sent += UsableCount(agreement);
  ++unjudged_.steps;
  if (!turn.agrees && unjudged_.steps < turn.world) return;
  const int64_t target = options_.target * int64_t{unjudged_.steps};
  const bool grows = is_of_quantiles_ && turn.step <= kLastRenewal;
  const ExDynaPace pace = grows ? ExDynaPace::kByRatio : ExDynaPace::kEven;
  const int64_t judged = std::max(int64_t{0}, unjudged_.sent + surplus_ / kSurplusSteps);
  threshold_ = NextExDynaThreshold(*threshold_, judged, target, options_.band, pace);
  CarryOver(unjudged_.sent - target);
  unjudged_ = {};
}

void ExDynaState::CarryOver(int64_t excess) {
  if (options_.band == ExDynaBand::kUpward) return;
  const int64_t most = kMostSurplus * options_.target;
  surplus_ = std::clamp(surplus_ + excess, -most, most);
}

bool ExDynaState::renews(const Turn& turn) const {
  const uint64_t last = turn.agrees ? kLastRenewal : kLastRenewalAlone;
  return !threshold_ || (is_of_quantiles_ && std::has_single_bit(turn.step) && turn.step <= last);
}

ExDynaRange ExDynaState::RangeOf(const Turn& turn) const {
  return blocks_.RangeOf(ExDynaPartition(
      static_cast<int64_t>(turn.step), static_cast<int>(turn.rank), static_cast<int>(turn.world)));
}

}  // namespace weir::compress
