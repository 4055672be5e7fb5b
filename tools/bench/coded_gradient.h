// Gradient frames of one large piece: what the section code writes, reads and applies.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/wire/piece_frame.h"
#include "tools/bench/section.h"

namespace weir::bench {

inline constexpr uint32_t kSide = 1024;       // of the square tensor that holds the piece
inline constexpr uint32_t kSquareTensor = 2;  // behind a layer of kSide outputs and its bias
inline constexpr auto kStripe = static_cast<uint32_t>(kStripeElements);

struct SelectedStripe {
  std::vector<uint16_t> indexes;
  std::vector<float> values;
};

// What a policy would select of a piece.
struct Selection {
  Selection(uint32_t element_count_in, double density);

  // How often a piece of work is done in one timing, so that it is not too short to be timed.
  int rounds() const;

  uint32_t element_count;
  size_t count = 0;
  std::vector<SelectedStripe> stripes;
};

// Writes the selection as a worker does and reads it as a server does.
class Coder {
 public:
  explicit Coder(const Selection& selection) : selection_(selection) {}

  void Encode();
  Status Decode();
  // That what is decoded was encoded.
  Status Verify();
  // The same of the last Decode.
  Status VerifyDecoded() const;

  // All of the blocks but the values.
  double IndexBits() const;
  const Bytes& bytes() const { return bytes_; }

 private:
  const Selection& selection_;
  Bytes bytes_;
  wire::PieceFrameWriter writer_;
  wire::PieceFrameReader reader_;
};

// Millions of selected elements a second that each piece of work handles, medians of turns.
std::vector<double> MedianMillions(const Options& options, const Selection& selection,
                                   const std::vector<std::function<void()>>& works);

}  // namespace weir::bench
