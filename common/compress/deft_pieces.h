// Where DEFT cuts a model, and how many elements of each piece it sends (Yoon and Oh, ICPP 2023,
// sections 4.1 and 4.2; where the paper is silent, its code: kljp/deft).
//
// DEFT selects within pieces, and more where gradients are large: a piece's count follows its norm,
// not its size. A piece here is a range of one tensor that a trainer selects from (the paper's
// layer); a server's pieces are cut elsewhere.
//
// Place in the life of a batch: gradient + residual -> norms -> **counts** -> packing -> select.
// Thread rule: pure functions. They add, multiply and divide doubles but never add to a product, so
// trainers with the same norms have the same counts, on any processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::compress {

struct DeftPiece {
  size_t tensor = 0;  // which it is a part of
  int64_t begin = 0;  // its first element, counted over all tensors in their order
  int64_t size = 0;   // elements, > 0

  int64_t end() const { return begin + size; }
  bool operator==(const DeftPiece&) const = default;
};

// Algorithm 2. A tensor with more than 1/n of all elements becomes n nearly equal pieces, the
// longer ones first; a smaller one stays whole. With fewer than n * n elements there are pieces
// without any; deviation: those, and empty tensors, are left out.
// tensor_sizes: elements, in the order of the model. trainer_count: n, > 0.
std::vector<DeftPiece> CutForDeft(std::span<const int64_t> tensor_sizes, int trainer_count);

enum class DeftDealing {
  // Deviation, and the better choice: counts add up to the target. The literal form misses it on
  // both sides. A piece takes at most what it has, and what is left over reaches the pieces that
  // come later, but not those that came before: with equal norms the 16 tensors of a DLRM send
  // 4,069 elements in place of 5,087. And a piece takes at least 1, even of nothing. So here every
  // piece leaves 1 to each that follows, and what is left over is dealt out again.
  kUntilAllIsDealt,
  // Algorithm 3 as it is written.
  kOnce,
};

// Algorithm 3: elements to send of each piece, 1 at least and its size at most; kUntilAllIsDealt:
// their sum is the target, or what is nearest to it within these bounds. Pieces take turns by
// decreasing norm, those of equal norms in their order (the code: in the reverse, and the counts
// differ). Of what is left, each takes the share of its norm in the norms from it on, rounded down.
//
// pieces: as cut. norms: the L2 norm of each piece's gradient + residual (the code; the paper says
// gradient); what is not finite or is negative counts as 0. target: for all pieces, >= 0; no more
// is sent than there is. Where no piece that has elements left has a norm, they are dealt out by
// how many each has.
//
// Deviation: the sums of norms are added up from the smallest. The paper subtracts norm after norm
// from their sum, so rounding takes elements off the last piece, whose share is 1.
std::vector<int64_t> DeftCounts(std::span<const DeftPiece> pieces, std::span<const double> norms,
                                int64_t target,
                                DeftDealing dealing = DeftDealing::kUntilAllIsDealt);

}  // namespace weir::compress
