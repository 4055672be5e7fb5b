// How a cut (shard_cut.h) writes down what a strand has.
//
// Place in the life of a batch: beside all of it.
// Thread rule: values.
#pragma once

#include <cstdint>

namespace weir::server {

enum class CutForm {
  kBits,   // every bit as it lay, and the order of rows: for the shard itself to go on from
  kModel,  // as saved models have it: rows settled, in their place, as of the cut
};

struct CutPlace {
  CutForm form = CutForm::kBits;
  uint64_t version = 0;  // of the strand's stage
  uint64_t steps = 0;    // of that stage which has taken most
};

}  // namespace weir::server
