#include "common/wire/row_frame.h"

#include <limits>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/wire/id_list.h"

namespace weir::wire {
namespace {

uint32_t Count32(size_t count) {
  CHECK_LE(count, std::numeric_limits<uint32_t>::max());
  return static_cast<uint32_t>(count);
}

Status Refuse(const FrameHeader& header, const std::string& reason) {
  return InvalidData(StrCat(DescribeFrame(header), ": ", reason));
}

Status CheckHeader(const FrameHeader& header, FrameKind kind, uint32_t dimension) {
  CHECK_GT(dimension, 0u);
  if (header.kind != kind) {
    return Refuse(header, StrCat("expected a ", FrameKindName(kind), " frame"));
  }
  if (header.begin != dimension) {
    return Refuse(header, StrCat("rows of dimension ", header.begin, ", expected ", dimension));
  }
  return OkStatus();
}

// Values of all rows; two 32-bit factors, so this cannot overflow, as bytes could.
uint64_t ValueCount(const FrameHeader& header, uint32_t dimension) {
  return uint64_t{header.count} * dimension;
}

bool HoldsRows(ByteSpan bytes, const FrameHeader& header, uint32_t dimension) {
  const size_t value_bytes = ValueBytes(header.coding, 1);
  return bytes.size() % value_bytes == 0 &&
         bytes.size() / value_bytes == ValueCount(header, dimension);
}

Status CheckRows(ByteSpan bytes, const FrameHeader& header, uint32_t dimension) {
  if (HoldsRows(bytes, header, dimension)) return OkStatus();
  return Refuse(header, StrCat(bytes.size(), " bytes of values are not ", header.count,
                               " rows of dimension ", dimension));
}

Status DecodeRows(ByteSpan bytes, const FrameHeader& header, uint32_t dimension,
                  std::vector<float>* values) {
  WEIR_RETURN_IF_ERROR(CheckRows(bytes, header, dimension));
  values->resize(size_t{header.count} * dimension);
  DecodeValues(bytes, header.coding, *values);
  return OkStatus();
}

Result<size_t> DecodeIds(const FrameView& frame, uint64_t table_rows, std::vector<uint64_t>* ids) {
  auto used = DecodeIdList(frame.payload, frame.header.count, table_rows, ids);
  if (used.ok()) return used;
  return Refuse(frame.header, used.status().message());
}

size_t AppendIdsAndRows(FrameKind kind, Bytes* out, uint32_t table, uint32_t dimension,
                        std::span<const uint64_t> ids, std::span<const float> values,
                        ValueCoding coding) {
  CHECK_GT(dimension, 0u);
  CHECK_EQ(values.size(), ids.size() * dimension);
  const size_t frame_begin = OpenFrame(out);
  AppendIdList(ids, out);
  AppendValues(values, coding, out);
  return CloseFrame(out, frame_begin,
                    {.kind = kind,
                     .coding = coding,
                     .tensor = table,
                     .begin = dimension,
                     .count = Count32(ids.size())});
}

// rows: what lies behind the ids.
Status DecodeIdsBeforeRows(FrameKind kind, const FrameView& frame, uint32_t dimension,
                           uint64_t table_rows, std::vector<uint64_t>* ids, ByteSpan* rows) {
  WEIR_RETURN_IF_ERROR(CheckHeader(frame.header, kind, dimension));
  const size_t value_count_max = frame.payload.size() / ValueBytes(frame.header.coding, 1);
  if (ValueCount(frame.header, dimension) > value_count_max) {
    return Refuse(frame.header, StrCat(frame.header.count, " rows of dimension ", dimension, " in ",
                                       frame.payload.size(), " bytes"));
  }
  WEIR_ASSIGN_OR_RETURN(const size_t used, DecodeIds(frame, table_rows, ids));
  *rows = frame.payload.subspan(used);
  return OkStatus();
}

}  // namespace

size_t AppendRowIds(Bytes* out, uint32_t table, uint32_t dimension, std::span<const uint64_t> ids) {
  CHECK_GT(dimension, 0u);
  const size_t frame_begin = OpenFrame(out);
  AppendIdList(ids, out);
  return CloseFrame(out, frame_begin,
                    {.kind = FrameKind::kRowIds,
                     .coding = ValueCoding::kF32,
                     .tensor = table,
                     .begin = dimension,
                     .count = Count32(ids.size())});
}

size_t AppendRowValues(Bytes* out, uint32_t table, uint32_t dimension,
                       std::span<const float> values, ValueCoding coding) {
  CHECK_GT(dimension, 0u);
  CHECK_EQ(values.size() % dimension, 0u);
  const size_t frame_begin = OpenFrame(out);
  AppendValues(values, coding, out);
  return CloseFrame(out, frame_begin,
                    {.kind = FrameKind::kRowValues,
                     .coding = coding,
                     .tensor = table,
                     .begin = dimension,
                     .count = Count32(values.size() / dimension)});
}

size_t AppendRowGradients(Bytes* out, uint32_t table, uint32_t dimension,
                          std::span<const uint64_t> ids, std::span<const float> values,
                          ValueCoding coding) {
  return AppendIdsAndRows(FrameKind::kRowGradients, out, table, dimension, ids, values, coding);
}

size_t AppendSavedRows(Bytes* out, uint32_t table, uint32_t row_floats,
                       std::span<const uint64_t> ids, std::span<const float> rows) {
  return AppendIdsAndRows(FrameKind::kSavedRows, out, table, row_floats, ids, rows,
                          ValueCoding::kF32);
}

Status DecodeRowIds(const FrameView& frame, uint32_t dimension, uint64_t table_rows,
                    std::vector<uint64_t>* ids) {
  WEIR_RETURN_IF_ERROR(CheckHeader(frame.header, FrameKind::kRowIds, dimension));
  if (frame.header.coding != ValueCoding::kF32) {
    return Refuse(frame.header, "a frame without values has value coding F32");
  }
  WEIR_ASSIGN_OR_RETURN(const size_t used, DecodeIds(frame, table_rows, ids));
  if (used != frame.payload.size()) {
    return Refuse(frame.header, StrCat(frame.payload.size() - used, " bytes after the last id"));
  }
  return OkStatus();
}

Status DecodeRowValues(const FrameView& frame, uint32_t dimension, uint32_t row_count,
                       std::vector<float>* values) {
  WEIR_RETURN_IF_ERROR(CheckHeader(frame.header, FrameKind::kRowValues, dimension));
  if (frame.header.count != row_count) {
    return Refuse(frame.header, StrCat(frame.header.count, " rows, asked for ", row_count));
  }
  return DecodeRows(frame.payload, frame.header, dimension, values);
}

Status DecodeRowGradients(const FrameView& frame, uint32_t dimension, uint64_t table_rows,
                          std::vector<uint64_t>* ids, std::vector<float>* values) {
  ByteSpan rows;
  WEIR_RETURN_IF_ERROR(
      DecodeIdsBeforeRows(FrameKind::kRowGradients, frame, dimension, table_rows, ids, &rows));
  return DecodeRows(rows, frame.header, dimension, values);
}

Status DecodeSavedRows(const FrameView& frame, uint32_t row_floats, uint64_t table_rows,
                       std::vector<uint64_t>* ids, ByteSpan* rows) {
  if (frame.header.coding != ValueCoding::kF32)
    return Refuse(frame.header, "not of 32-bit numbers");
  WEIR_RETURN_IF_ERROR(
      DecodeIdsBeforeRows(FrameKind::kSavedRows, frame, row_floats, table_rows, ids, rows));
  return CheckRows(*rows, frame.header, row_floats);
}

}  // namespace weir::wire
