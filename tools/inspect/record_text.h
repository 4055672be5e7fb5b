// A record of a server's log in words, and whether what it says fits together.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/log/record.h"

namespace weir::tools {

// "step", "hello"; "unknown" where this release does not know it.
std::string KindOf(const v1::LogRecord& record);

// "12 step trainer 0 stage 0 incarnation 3 sequence 5, 345 bytes".
std::string RecordText(const log::Record& record, uint64_t bytes);

// What its checksum does not tell: that a release of this kind would take it.
Status CheckRecord(const log::Record& record);

// Frames end to end; how many saved rows they hold.
Result<uint64_t> CountSavedRows(ByteSpan frames);

}  // namespace weir::tools
