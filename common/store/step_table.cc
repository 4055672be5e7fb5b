#include "common/store/step_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/check.h"

namespace weir::store {

StepTable::StepTable(std::function<StepFactors(uint64_t)> factors, uint64_t settled_step,
                     size_t window)
    : factors_(std::move(factors)),
      settled_step_(std::clamp<uint64_t>(settled_step, 1, kBlockSteps * kMaxBlocks - 1)),
      window_(window),
      blocks_(std::make_unique<std::array<std::atomic<const Block*>, kMaxBlocks>>()) {}

StepTable::~StepTable() {
  for (size_t i = 0; i < block_count_; ++i) delete (*blocks_)[i].load();
}

StepTable::Steps StepTable::At(uint64_t step) const {
  step = std::min(step, settled_step_);
  const Block& block = BlockOf(step);
  const size_t at = step % kBlockSteps;
  return {&block.rates[at], &block.scaled_rates[at], &block.keeps[at]};
}

double StepTable::LogKept(uint64_t step) const {
  const uint64_t known = std::min(step, settled_step_);
  const Block& block = BlockOf(known);
  const size_t at = known % kBlockSteps;
  if (step == known) return block.log_kept[at];
  return block.log_kept[at] + static_cast<double>(step - known) * factors_(known).log_keep;
}

const StepTable::Block& StepTable::BlockOf(uint64_t step) const {
  const size_t number = step / kBlockSteps;
  DCHECK_LT(number, kMaxBlocks);
  const Block* block = (*blocks_)[number].load(std::memory_order_acquire);
  return block != nullptr ? *block : Make(number);
}

const StepTable::Block& StepTable::Make(size_t number) const {
  MutexLock lock(mutex_);
  while (block_count_ <= number) {
    const double log_kept =
        block_count_ == 0 ? 0 : (*blocks_)[block_count_ - 1].load()->log_kept.back();
    (*blocks_)[block_count_].store(MakeNext(block_count_, log_kept).release(),
                                   std::memory_order_release);
    ++block_count_;
  }
  return *(*blocks_)[number].load();
}

std::unique_ptr<const StepTable::Block> StepTable::MakeNext(size_t number, double log_kept) const {
  auto block = std::make_unique<Block>();
  for (auto* factors : {&block->rates, &block->scaled_rates, &block->keeps}) {
    factors->reserve(kBlockSteps + window_);
  }
  block->log_kept.reserve(kBlockSteps);
  for (size_t i = 0; i < kBlockSteps + window_; ++i) {
    const uint64_t step = number * kBlockSteps + i;
    const StepFactors factors = step == 0 ? StepFactors{} : factors_(step);  // there is no step 0
    block->rates.push_back(static_cast<float>(factors.rate));
    block->scaled_rates.push_back(static_cast<float>(factors.scaled_rate));
    block->keeps.push_back(static_cast<float>(std::exp(factors.log_keep)));
    if (i >= kBlockSteps) continue;
    log_kept += factors.log_keep;
    block->log_kept.push_back(log_kept);
  }
  return block;
}

}  // namespace weir::store
