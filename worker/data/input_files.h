// The files that data.train and data.test mean: besides files they may name folders and patterns.
//
// A folder means the files in it, in the order of their names' bytes. A pattern (glob(7): *, ? and
// [...]) means what it matches, in the same order; what exists under exactly that name is meant
// itself. What is hidden, and what writers of many files leave beside them (_SUCCESS, *.crc) or
// have not finished (_temporary/), is passed over unless a pattern spells it, and so is a file
// without a byte among others.
//
// Place in the life of a batch: before it; every worker finds the same files, or is not let in.
// Thread rule: any thread.
#pragma once

#include "common/base/status.h"
#include "common/proto/config.pb.h"

namespace weir::data {

// data, with files alone in train and test, relative to root as before. NotFound, with the field,
// where nothing is found. Tells the log how many there are, and warns of a file that is read twice.
Result<v1::DataConfig> FindFiles(const v1::DataConfig& data);

}  // namespace weir::data
