// Which trainer selects from which of DEFT's pieces (Yoon and Oh, ICPP 2023, section 4.3; where the
// paper is silent, its code: kljp/deft).
//
// In every step one trainer, the leader, packs the pieces into a bin for each trainer, so that all
// have about as much to select, and tells the others; bins and leaders take turns, and each trainer
// comes to every bin.
//
// Place in the life of a batch: norms -> counts -> **packing** -> select.
// Thread rule: pure functions. Trainers agree on a packing because the leader sends it, not because
// each could make it: norms differ between trainers, and the last bits of log2 between libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/compress/deft_pieces.h"

namespace weir::compress {

// What selecting from a piece is taken to cost; the unit is of no matter.
enum class DeftCost {
  // Its elements. Deviation, and right where selecting reads each element about once, as ours does:
  // bins of equal elements then take equally long.
  kElements,
  // Equation 3: elements * log2(count), as a heap of the largest has it; elements alone for a count
  // of 1 (the code), whose logarithm would put all such pieces into one bin.
  kHeap,
};

// size: elements of the piece, >= 0. count: how many of them are sent, >= 0.
double CostOf(DeftCost cost, int64_t size, int64_t count);

// By their numbers: each piece is in one bin or common.
struct DeftPacking {
  std::vector<std::vector<size_t>> bins;  // pieces in the order in which they were packed
  // Those of which all is sent: there is nothing to select and no index to tell, so they are in no
  // bin and everybody sends them whole (the code; the paper packs them). A trainer takes them from
  // the leader, never from its own counts, which differ.
  std::vector<size_t> common;

  bool operator==(const DeftPacking&) const = default;
};

// Algorithm 4, longest processing time first: the costliest piece that is left, the first of
// equals, goes to the bin with the smallest load, the first of equals.
// Deviation, by elements: where equal pieces do not go round this leaves a bin up to a seventh
// longer than the others, so bins are then filled one after the other, to a length that is sought
// by halves, if that makes the longest shorter (Coffman, Garey and Johnson, 1978).
// counts: of each piece, the leader's own. bin_count: trainers, > 0.
DeftPacking PackForDeft(std::span<const DeftPiece> pieces, std::span<const int64_t> counts,
                        int bin_count, DeftCost cost = DeftCost::kElements);

// As a leader tells it: the bin of each piece. Of a packing without common pieces.
Bytes TellDeftPacking(const DeftPacking& packing);
// What was told for so many pieces and bins, which are > 0; pieces of a bin come in their order.
// Nothing if the bytes, which may be any, are not that.
std::optional<DeftPacking> HearDeftPacking(ByteSpan told, size_t piece_count, int bin_count);

// step: counted from 0. trainer_count: > 0.
int DeftLeader(int64_t step, int trainer_count);

// The bin of a trainer, in [0, trainer_count): (leader + trainer) mod n. leader and trainer:
// numbers below it.
int DeftBin(int leader, int trainer, int trainer_count);

}  // namespace weir::compress
