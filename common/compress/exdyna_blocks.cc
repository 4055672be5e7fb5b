#include "common/compress/exdyna_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/check.h"

namespace weir::compress {
namespace {

// Of the mean count: over the one and under the other, a partition is not balanced.
constexpr double kOver = 1.05;
constexpr double kUnder = 0.95238;

// Of the mean count: so far a sum may be off.
constexpr double kUnevenSum = 0.05;

// A partition keeps one in so many of its first blocks.
constexpr int64_t kKeptPart = 4;

// Algorithm 2, lines 7 to 14.
std::vector<int64_t> EvenBlocks(int64_t block_count, int64_t partitions) {
  std::vector<int64_t> first_blocks = {0};
  for (int64_t i = 0; i < partitions; ++i) {
    const int64_t more = i < block_count % partitions ? 1 : 0;
    first_blocks.push_back(first_blocks.back() + block_count / partitions + more);
  }
  return first_blocks;
}

// A partition with fewer blocks than kKeptPart could hardly give any away: then they are shorter.
int64_t FittingAlignment(int64_t elements, int64_t partitions, int64_t alignment) {
  while (alignment > 1 && elements / alignment < kKeptPart * partitions) alignment /= 2;
  return alignment;
}

}  // namespace

ExDynaBlocks::ExDynaBlocks(int64_t element_count, int partition_count,
                           const ExDynaBlockOptions& options)
    : element_count_(element_count),
      alignment_(options.alignment),
      deal_remainder_(options.deal_remainder),
      exact_shares_(options.exact_shares),
      even_sums_(options.even_sums) {
  CHECK_GE(element_count, 0);
  CHECK_GT(partition_count, 0);
  CHECK_GT(options.block_count, 0);
  CHECK(options.alignment > 0 && std::has_single_bit(static_cast<uint64_t>(options.alignment)))
      << options.alignment;
  int64_t blocks = options.block_count;
  if (options.fit_blocks) {
    alignment_ = FittingAlignment(element_count, partition_count, alignment_);
    blocks = std::min(std::max<int64_t>(blocks, partition_count), element_count / alignment_);
  }
  first_blocks_ = EvenBlocks(blocks, partition_count);
}

int64_t ExDynaBlocks::BeginOf(int64_t block) const {
  if (block == block_count()) return element_count_;
  if (!deal_remainder_) return block * (element_count_ / block_count() / alignment_) * alignment_;
  return block * (element_count_ / alignment_) / block_count() * alignment_;
}

ExDynaRange ExDynaBlocks::BlocksOf(int partition) const {
  CHECK(partition >= 0 && partition < partition_count()) << partition;
  const auto place = static_cast<size_t>(partition);
  return {.begin = first_blocks_[place], .end = first_blocks_[place + 1]};
}

ExDynaRange ExDynaBlocks::RangeOf(int partition) const {
  const ExDynaRange blocks = BlocksOf(partition);
  return {.begin = BeginOf(blocks.begin), .end = BeginOf(blocks.end)};
}

bool ExDynaBlocks::CanSpare(int partition) const {
  return (BlocksOf(partition).size() - 1) * kKeptPart * partition_count() >= block_count();
}

int64_t ExDynaBlocks::MoveBlock(int from, int to) {
  int64_t& boundary = first_blocks_[static_cast<size_t>(std::max(from, to))];
  const int64_t block = from < to ? boundary - 1 : boundary;
  boundary += from < to ? -1 : 1;
  return BeginOf(block + 1) - BeginOf(block);
}

void ExDynaBlocks::Rebalance(std::span<const int64_t> counts) {
  CHECK_EQ(counts.size(), first_blocks_.size() - 1);
  std::vector<double> selected(counts.begin(), counts.end());
  const double sum = std::accumulate(selected.begin(), selected.end(), 0.0);
  const double exact_mean = sum / partition_count();
  const double mean = exact_shares_ ? exact_mean : std::trunc(exact_mean);
  if (mean <= 0) return;
  if (even_sums_) return EvenSums(selected, mean);
  for (int left = 0; left + 1 < partition_count(); ++left) {
    double* const pair = &selected[static_cast<size_t>(left)];
    const double ratios[] = {pair[0] / mean, pair[1] / mean};
    const bool to_right = ratios[0] > kOver && ratios[1] < kUnder;
    const bool to_left = ratios[0] < kUnder && ratios[1] > kOver;
    const int from = to_right ? left : left + 1, to = to_right ? left + 1 : left;
    if (!(to_right || to_left) || !CanSpare(from)) continue;
    const auto moved = static_cast<double>(MoveBlock(from, to));
    const double exact_carried = moved * sum / static_cast<double>(element_count_);
    const double carried = exact_shares_ ? exact_carried : std::trunc(exact_carried);
    pair[from - left] -= carried;
    pair[to - left] += carried;
  }
}

void ExDynaBlocks::EvenSums(const std::vector<double>& selected, double mean) {
  double before = 0;
  for (int left = 0; left + 1 < partition_count(); ++left) {
    before += selected[static_cast<size_t>(left)];
    const double excess = before - (left + 1) * mean;
    const bool to_right = excess > kUnevenSum * mean, to_left = excess < -kUnevenSum * mean;
    const int from = to_right ? left : left + 1;
    if ((to_right || to_left) && BlocksOf(from).size() > 1) {
      MoveBlock(from, to_right ? left + 1 : left);
    }
  }
}

void ExDynaBlocks::Save(ByteWriter* out) const {
  for (int i = 0; i < partition_count(); ++i) {
    out->PutVarint(static_cast<uint64_t>(BlocksOf(i).size()));
  }
}

bool ExDynaBlocks::Load(ByteReader* in) {
  const auto most = static_cast<uint64_t>(block_count());
  std::vector<int64_t> first_blocks = {0};
  for (int i = 0; i < partition_count(); ++i) {
    const uint64_t blocks = in->GetVarint();
    if (blocks > most - static_cast<uint64_t>(first_blocks.back())) return false;
    first_blocks.push_back(first_blocks.back() + static_cast<int64_t>(blocks));
  }
  if (!in->ok() || first_blocks.back() != block_count()) return false;
  first_blocks_ = std::move(first_blocks);
  return true;
}

int ExDynaPartition(int64_t step, int trainer, int trainer_count) {
  CHECK_GE(step, 0);
  CHECK(trainer >= 0 && trainer < trainer_count) << trainer << " of " << trainer_count;
  return static_cast<int>((step % trainer_count + trainer) % trainer_count);
}

std::vector<int64_t> ExDynaCountsByPartition(int64_t step, std::span<const int64_t> by_trainer) {
  const auto trainer_count = static_cast<int>(by_trainer.size());
  std::vector<int64_t> counts(by_trainer.size());
  for (int trainer = 0; trainer < trainer_count; ++trainer) {
    const int partition = ExDynaPartition(step, trainer, trainer_count);
    counts[static_cast<size_t>(partition)] = by_trainer[static_cast<size_t>(trainer)];
  }
  return counts;
}

}  // namespace weir::compress
