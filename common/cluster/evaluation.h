// What an evaluation found, from the scores of all its test chunks.
//
// Place in the life of a batch: the very end, forward -> scores -> **metrics**.
// Thread rule: any thread. Of 100 million rows it takes ten seconds and more, in which a thread
// that others expect answers of has better to do (server/coordinator/coordinator.h).
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "common/cluster/lease_book.h"
#include "common/eval/scores.h"
#include "common/proto/protocol.pb.h"

namespace weir::cluster {

// Shared: whoever computes has them, and so has who would have it done again.
using ChunkScores = std::map<ChunkKey, std::shared_ptr<const eval::Scores>>;

size_t RowCount(const ChunkScores& chunks);

// Everything but when it was: at_samples and seconds.
v1::EvaluationReport Evaluate(const ChunkScores& chunks);

}  // namespace weir::cluster
