#include "common/wire/id_list.h"

#include <cstring>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/wire/bit_stream.h"
#include "common/wire/rice.h"

namespace weir::wire {
namespace {

// Low two bits of the tag. Where IndexCoding has the same number, it means the same.
enum class IdCoding : uint8_t { kRice = 2, kRaw = 3 };

constexpr uint32_t kMaxIdRiceParameter = 63;
constexpr uint64_t kRawIdBits = 64;

void PutTag(IdCoding coding, uint32_t rice_parameter, Bytes* out) {
  out->push_back(static_cast<uint8_t>(static_cast<uint32_t>(coding) | rice_parameter << 2));
}

Status IdFault(uint64_t table_rows) {
  return InvalidData(
      StrCat("row ids do not strictly increase below the table's ", table_rows, " rows"));
}

Status ReadRiceIds(BitReader& reader, uint32_t parameter, uint64_t table_rows,
                   std::span<uint64_t> ids) {
  uint64_t lowest = 0;  // the smallest id that may come next
  for (uint64_t& id : ids) {
    const uint64_t gap = reader.ReadRice(parameter);
    if (!reader.ok()) return InvalidData("the Rice codes of the row ids are cut short");
    if (gap >= table_rows - lowest) return IdFault(table_rows);
    id = lowest + gap;
    lowest = id + 1;
  }
  if (!reader.padding_is_zero()) return InvalidData("padding after the row ids is not zero");
  return OkStatus();
}

Result<size_t> DecodeRawIds(ByteSpan bytes, uint64_t table_rows, std::span<uint64_t> ids) {
  if (ids.empty()) return size_t{0};
  std::memcpy(ids.data(), bytes.data(), ids.size_bytes());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= table_rows || (i > 0 && ids[i] <= ids[i - 1])) return IdFault(table_rows);
  }
  return ids.size_bytes();
}

}  // namespace

void AppendIdList(std::span<const uint64_t> ids, Bytes* out) {
  for (size_t i = 1; i < ids.size(); ++i) DCHECK_LT(ids[i - 1], ids[i]);
  const RiceSize rice = ids.empty() ? RiceSize() : BestRice(ids, kMaxIdRiceParameter);
  if (rice.bytes() >= ids.size_bytes()) {
    PutTag(IdCoding::kRaw, 0, out);
    ByteWriter(*out).PutRaw(ids.data(), ids.size_bytes());
    return;
  }
  PutTag(IdCoding::kRice, rice.parameter, out);
  const size_t start = out->size();
  out->resize(start + rice.bytes() + BitWriter::kSlackBytes);
  BitWriter writer(std::span<uint8_t>(*out).subspan(start));
  WriteRiceGaps(ids, rice.parameter, &writer);
  CHECK_EQ(writer.Finish(), rice.bytes());
  out->resize(start + rice.bytes());
}

Result<size_t> DecodeIdList(ByteSpan bytes, uint32_t count, uint64_t table_rows,
                            std::vector<uint64_t>* ids) {
  if (bytes.empty()) return InvalidData("the row ids have no tag");
  const uint8_t tag = bytes[0];
  const ByteSpan codes = bytes.subspan(1);
  const bool rice = (tag & 3) == static_cast<uint8_t>(IdCoding::kRice);
  if (!rice && tag != static_cast<uint8_t>(IdCoding::kRaw)) {
    return InvalidData(StrCat("the row ids have unknown tag ", int{tag}));
  }
  const uint64_t bits_min = uint64_t{count} * (rice ? (tag >> 2) + 1u : kRawIdBits);
  if (bits_min > uint64_t{codes.size()} * 8 || count > table_rows) {
    return InvalidData(StrCat(count, " row ids in ", codes.size(), " bytes, for a table of ",
                              table_rows, " rows"));
  }
  ids->resize(count);
  if (!rice) {
    WEIR_ASSIGN_OR_RETURN(const size_t raw_bytes, DecodeRawIds(codes, table_rows, *ids));
    return 1 + raw_bytes;
  }
  BitReader reader(codes);
  WEIR_RETURN_IF_ERROR(ReadRiceIds(reader, tag >> 2, table_rows, *ids));
  return 1 + reader.bytes_consumed();
}

}  // namespace weir::wire
