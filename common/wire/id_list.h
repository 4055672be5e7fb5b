// A sorted list of row ids as bytes: a tag, then Rice codes of the gaps or raw 64-bit numbers,
// whichever is smaller. The id section of row frames (common/wire/row_frame.h).
//
// Thread rule: pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace weir::wire {

// ids: strictly increasing, may be empty.
void AppendIdList(std::span<const uint64_t> ids, Bytes* out);

// Decodes count ids from the beginning of bytes, which may go on behind them, into *ids, and
// returns the bytes used. InvalidData, before anything is allocated, when the bytes or a table of
// table_rows rows cannot hold so many; and when ids do not strictly increase below table_rows.
Result<size_t> DecodeIdList(ByteSpan bytes, uint32_t count, uint64_t table_rows,
                            std::vector<uint64_t>* ids);

}  // namespace weir::wire
