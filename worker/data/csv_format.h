// Comma-separated values: which fields of a record are label, dense features and ids, and what they
// become.
//
// Place in the life of a batch: read -> **parse** -> batch.
// Thread rule: immutable, any thread; a parser, one thread.
#pragma once

#include <memory>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "common/proto/learned.pb.h"
#include "worker/data/reader.h"
#include "worker/data/text_reader.h"

namespace weir::data {

// config: data.csv, with defaults filled in and valid. learned: as LearnColumns gave it.
std::unique_ptr<const TextFormat> MakeCsvFormat(const v1::CsvConfig& config,
                                                const v1::LearnedColumns& learned,
                                                RowLabels labels = RowLabels::kRequired);

// What the columns learn from the first chunk of the first training file. Fails when that file, or
// its header, does not fit.
Result<v1::LearnedColumns> LearnColumns(const v1::DataConfig& data);

}  // namespace weir::data
