// The one table that lists the readers: which config field chooses which. A new reader is a row
// here; a test walks the config's oneof and demands one for each field.
//
// Thread rule: constant.
#pragma once

#include <memory>
#include <span>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "common/proto/learned.pb.h"
#include "worker/data/reader.h"

namespace weir::data {

struct ReaderEntry {
  v1::DataConfig::ReaderCase reader_case;
  // The reader in file order; data.shuffle is MakeReader's.
  Result<std::unique_ptr<Reader>> (*make)(const v1::Config& config,
                                          const v1::LearnedColumns& learned, RowLabels labels);
};

std::span<const ReaderEntry> ReaderTable();

}  // namespace weir::data
