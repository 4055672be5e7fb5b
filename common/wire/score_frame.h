// Score frames: what a trainer predicted on its share of the test data, and the labels.
//
// Place in the life of a batch: none in training. During an evaluation every trainer sends the
// coordinator its (score, label) pairs, which the coordinator merges into one AUC and log loss.
// Thread rule: pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/wire/frame.h"

namespace weir::wire {

// Appends one frame to *out and returns its bytes. labels: 0 or 1, as many as scores.
size_t AppendScores(Bytes* out, std::span<const float> scores, std::span<const uint8_t> labels);

// Replaces the contents of the outputs, which are unspecified after an error. InvalidData when the
// payload is not header.count pairs, or a label is not 0 or 1. Scores may be any float.
Status DecodeScores(const FrameView& frame, std::vector<float>* scores,
                    std::vector<uint8_t>* labels);

}  // namespace weir::wire
