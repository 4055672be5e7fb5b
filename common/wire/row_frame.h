// Row frames: embedding rows asked for, answered, their gradients, and rows as models are saved.
//
// Place in the life of a batch: a worker deduplicates and sorts the ids of a batch, asks each
// server for its share (row ids), gets the rows back in the order of the request (row values), and
// later pushes one summed gradient for each distinct row (row gradients). One frame carries rows of
// one table.
//
// Ids cost Rice codes of their gaps with one parameter, or 64 bits each where that is smaller.
// Receivers must state what they know of the table: a frame that disagrees is InvalidData, before
// anything is allocated for it. Header: tensor = table, begin = dimension, count = rows.
// More than RowsPerFrame of a table take several frames, each of which is like any other.
//
// Thread rule: pure functions, any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/wire/frame.h"
#include "common/wire/value_coding.h"

namespace weir::wire {

// As many as a piece has: so a frame of rows is, like one of a piece, small beside a large message,
// which can then be cut between frames.
inline constexpr size_t kRowFrameValues = size_t{1} << 17;
constexpr size_t RowsPerFrame(size_t dimension) {
  return std::max<size_t>(1, kRowFrameValues / dimension);
}

// The encoders append one frame to *out and return its bytes. ids: strictly increasing, may be
// empty. values: row-major, row count x dimension. dimension >= 1.
size_t AppendRowIds(Bytes* out, uint32_t table, uint32_t dimension, std::span<const uint64_t> ids);
size_t AppendRowValues(Bytes* out, uint32_t table, uint32_t dimension,
                       std::span<const float> values, ValueCoding coding);
size_t AppendRowGradients(Bytes* out, uint32_t table, uint32_t dimension,
                          std::span<const uint64_t> ids, std::span<const float> values,
                          ValueCoding coding);

// row_floats: values and optimizer state of a row.
size_t AppendSavedRows(Bytes* out, uint32_t table, uint32_t row_floats,
                       std::span<const uint64_t> ids, std::span<const float> rows);

// The decoders take a view from FrameCursor and what this process knows of the table that the
// header names; they replace the contents of their outputs, which are unspecified after an error.
// table_rows: size of the table's id space, which bounds ids and so the memory taken.

// ids: strictly increasing, below table_rows.
Status DecodeRowIds(const FrameView& frame, uint32_t dimension, uint64_t table_rows,
                    std::vector<uint64_t>* ids);

// row_count: rows that were asked for. values: row_count x dimension.
Status DecodeRowValues(const FrameView& frame, uint32_t dimension, uint32_t row_count,
                       std::vector<float>* values);

// values: ids->size() x dimension.
Status DecodeRowGradients(const FrameView& frame, uint32_t dimension, uint64_t table_rows,
                          std::vector<uint64_t>* ids, std::vector<float>* values);

// rows: ids->size() x row_floats numbers as they lie in the frame, each of sizeof(float) bytes, at
// any address.
Status DecodeSavedRows(const FrameView& frame, uint32_t row_floats, uint64_t table_rows,
                       std::vector<uint64_t>* ids, ByteSpan* rows);

}  // namespace weir::wire
