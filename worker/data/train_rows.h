// How many rows there are to train on, where a config does not say (data.train_rows): what it
// leaves to its defaults goes by it.
//
// Place in the life of a batch: before the first.
// Thread rule: any thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "common/proto/config.pb.h"

namespace weir::data {

// Of one epoch. Reads no further once there are `most`, and says that many. Fails where so many
// lines have no row that it is not worth reading on: more than data.max_malformed_share allows, or
// a few times `most`.
Result<int64_t> CountTrainRows(const v1::Config& config, int64_t most);

// A config of data.train_rows alone, to be laid over this one, which has its defaults filled in and
// is valid. Of nothing where that knows it already, or cannot be told: who trains on the files says
// why.
v1::Config FindTrainRows(const v1::Config& config);

}  // namespace weir::data
