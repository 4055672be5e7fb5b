// data.shuffle for every reader: a Reader around another that permutes the rows of each training
// chunk, keyed by (run.seed, epoch, file, chunk), and leaves test chunks as they are. The shuffle
// stays inside its chunk, so it does not depend on who was lent which chunk.
//
// Place in the life of a batch: read -> parse -> **shuffle** -> batch.
// Thread rule: as the reader inside.
#pragma once

#include <cstdint>
#include <memory>

#include "worker/data/reader.h"

namespace weir::data {

std::unique_ptr<Reader> MakeShufflingReader(std::unique_ptr<Reader> inside, uint64_t seed);

}  // namespace weir::data
