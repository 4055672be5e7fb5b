// Reader of Criteo click logs as they are published: one row a line, plain or gzip-compressed.
// Integers become LogCount of their value, categoricals their value modulo rows_per_table; missing
// fields become 0.
//
// A malformed line (wrong number of fields, label, integer or categorical; longer than
// kMaxLineBytes) is skipped and counted; the first few of a chunk are described. Each file that is
// being read stays open at its position, so increasing chunks cost one pass; going back opens it
// again.
//
// Thread rule: thread-compatible, one reader per thread.
#pragma once

#include <memory>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "worker/data/reader.h"

namespace weir::data {

// Opens every file of data.train and data.test once: a missing, unreadable or empty one is reported
// here. config.data().criteo_tsv() is set, defaults filled in.
// labels: optional, a line may have the 39 fields behind the label alone.
Result<std::unique_ptr<Reader>> MakeCriteoTsvReader(const v1::Config& config,
                                                    RowLabels labels = RowLabels::kRequired);

}  // namespace weir::data
