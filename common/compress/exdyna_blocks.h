// Which ranges of the elements trainers select from in ExDyna (Yoon and Oh, CCGrid 2024,
// algorithm 2 and algorithm 3; where the paper is silent, its code: kljp/exdyna).
//
// All elements are cut into many small blocks, and successive blocks make a partition for each
// trainer. Where one partition was found to hold more than its share of what is selected and its
// neighbour less, a block moves between them before the next step. Trainers take turns with the
// partitions.
//
// Place in the life of a batch: counts of the step before -> **partitions** -> select.
// Thread rule: thread-compatible, and pure functions. From the same counts every trainer replays
// the same partitions bit for bit: whole numbers, and doubles of which none is added to a product.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"

namespace weir::compress {

// The constants are the code's; the paper names none. The repairs are deviations.
struct ExDynaBlockOptions {
  int64_t block_count = 1024;  // of all partitions together, > 0
  int64_t alignment = 32;      // blocks begin at multiples of so many elements; a power of two
  // Repair: blocks differ by an alignment at most. Else all are as short as the shortest, and the
  // last partition has what remains: 56 % more than the others for 508,753 elements in 16.
  bool deal_remainder = true;
  // Repair: fewer blocks where they would be shorter than the alignment, and a smaller alignment
  // where that would leave fewer than 4 to a partition; more where there are more partitions than
  // blocks. Else all partitions but the last are empty with less than 32,768 elements.
  bool fit_blocks = true;
  // Repair: shares and what a move carries along as real numbers, as the paper has them. Else they
  // are rounded down: what moves counts as nothing where a block holds less than one selected.
  bool exact_shares = true;
  // Repair, where it is asked for: the boundary behind some partitions moves by a block where all
  // these together have a twentieth of the mean more or less than their shares, and a partition
  // keeps one block. Else a load that falls from partition to partition, with a balanced one among
  // them, stays as it is, and a quarter of a partition's first blocks, which may hold half the
  // load.
  bool even_sums = false;
};

struct ExDynaRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const ExDynaRange&) const = default;
};

class ExDynaBlocks {
 public:
  // As many blocks in each partition, one more in the first ones. Where there are fewer elements
  // than partitions, some are empty. element_count: >= 0. partition_count: trainers, > 0.
  ExDynaBlocks(int64_t element_count, int partition_count, const ExDynaBlockOptions& options = {});

  int partition_count() const { return static_cast<int>(first_blocks_.size()) - 1; }
  int64_t block_count() const { return first_blocks_.back(); }

  // In elements. Those of all partitions follow each other and cover all elements.
  ExDynaRange RangeOf(int partition) const;
  // In blocks.
  ExDynaRange BlocksOf(int partition) const;

  // Algorithm 3, lines 7 to 28: looks at each two neighbours from left to right, and moves a block
  // from one with more than 1.05 of the mean to one with less than 0.95238, unless it would be left
  // less than a quarter of its first share of the blocks; even_sums is another rule. What
  // moves takes its share of the counts along for the neighbours that follow. Nothing moves where
  // the mean is 0, by which the code divides.
  // counts: elements selected in each partition, in the order of partitions. As others sent them:
  // any values will do.
  void Rebalance(std::span<const int64_t> counts);

  // Which blocks each partition has.
  void Save(ByteWriter* out) const;
  // Of blocks that were made as these were. False, and nothing has changed, if the bytes cannot be
  // those: they may be any.
  bool Load(ByteReader* in);

  bool operator==(const ExDynaBlocks&) const = default;

 private:
  int64_t BeginOf(int64_t block) const;
  bool CanSpare(int partition) const;
  void EvenSums(const std::vector<double>& selected, double mean);
  int64_t MoveBlock(int from, int to);  // between neighbours; how many elements it has

  int64_t element_count_;
  int64_t alignment_;
  bool deal_remainder_;
  bool exact_shares_;
  bool even_sums_;
  // Of each partition, and the number of all blocks; so none is lost, or in two partitions.
  std::vector<int64_t> first_blocks_;
};

// The partition of a trainer in a step, from 0: (step + trainer) mod n.
int ExDynaPartition(int64_t step, int trainer, int trainer_count);

// Algorithm 3, lines 3 to 6: in the order of partitions what trainers selected in that step.
std::vector<int64_t> ExDynaCountsByPartition(int64_t step, std::span<const int64_t> by_trainer);

}  // namespace weir::compress
