#include "common/wire/index_coding.h"

#include <array>
#include <bit>
#include <cstring>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/wire/bit_stream.h"
#include "common/wire/rice.h"

namespace weir::wire {
namespace {

constexpr size_t kMaxBitmapWords = kMaxBlockElements / 64;

using BitmapWords = std::array<uint64_t, kMaxBitmapWords>;

void AppendBitmap(std::span<const uint16_t> indexes, size_t byte_count, Bytes* out) {
  BitmapWords words{};
  for (const uint16_t index : indexes) words[index / 64] |= uint64_t{1} << index % 64;
  ByteWriter(*out).PutRaw(words.data(), byte_count);
}

Result<size_t> DecodeBitmap(uint32_t stripe_elements, ByteSpan bytes, std::span<uint16_t> indexes) {
  const size_t byte_count = (stripe_elements + 7) / 8;
  if (bytes.size() < byte_count) return InvalidData("the bitmap is cut short");
  BitmapWords words{};
  std::memcpy(words.data(), bytes.data(), byte_count);
  if (stripe_elements % 8 != 0 && bytes[byte_count - 1] >> stripe_elements % 8 != 0) {
    return InvalidData("the bitmap has bits beyond its stripe");
  }
  size_t set_count = 0;
  for (const uint64_t word : words) set_count += static_cast<size_t>(std::popcount(word));
  if (set_count != indexes.size()) {
    return InvalidData(
        StrCat("the bitmap selects ", set_count, " elements, its block says ", indexes.size()));
  }
  uint16_t* out = indexes.data();
  for (size_t i = 0; i < words.size(); ++i) {
    for (uint64_t word = words[i]; word != 0; word &= word - 1) {
      *out++ = static_cast<uint16_t>(64 * i + static_cast<size_t>(std::countr_zero(word)));
    }
  }
  return byte_count;
}

Result<size_t> DecodeRice(uint32_t parameter, uint32_t stripe_elements, ByteSpan bytes,
                          std::span<uint16_t> indexes) {
  if (parameter > kMaxIndexRiceParameter) {
    return InvalidData(StrCat("Rice parameter ", parameter, " is above ", kMaxIndexRiceParameter));
  }
  BitReader reader(bytes);
  uint32_t lowest = 0;  // the smallest offset that may come next
  for (uint16_t& index : indexes) {
    const uint64_t gap = reader.ReadRice(parameter);
    if (gap >= stripe_elements - lowest) {
      return InvalidData(StrCat("an index is beyond its stripe of ", stripe_elements, " elements"));
    }
    index = static_cast<uint16_t>(lowest + gap);
    lowest = index + uint32_t{1};
  }
  if (!reader.ok()) return InvalidData("the Rice codes are cut short");
  if (!reader.padding_is_zero()) return InvalidData("padding after the Rice codes is not zero");
  return reader.bytes_consumed();
}

}  // namespace

IndexPlan PlanIndexes(std::span<const uint16_t> indexes, uint32_t stripe_elements) {
  CHECK(!indexes.empty());
  CHECK_LE(stripe_elements, kMaxBlockElements);
  CHECK_LT(indexes.back(), stripe_elements);
  CHECK_LE(indexes.size(), stripe_elements);
  if (indexes.size() == stripe_elements) return {};
  const IndexPlan bitmap = {IndexCoding::kBitmap, 0, stripe_elements};
  const RiceSize size = BestRice(indexes, kMaxIndexRiceParameter);
  const IndexPlan rice = {IndexCoding::kRice, size.parameter, size.bits};
  return rice.bytes() < bitmap.bytes() ? rice : bitmap;
}

void AppendIndexes(std::span<const uint16_t> indexes, const IndexPlan& plan, Bytes* out) {
  if (plan.coding == IndexCoding::kDense) return;
  if (plan.coding == IndexCoding::kBitmap) return AppendBitmap(indexes, plan.bytes(), out);
  const size_t start = out->size();
  out->resize(start + plan.bytes());
  BitWriter writer(std::span<uint8_t>(*out).subspan(start));
  WriteRiceGaps(indexes, plan.rice_parameter, &writer);
  writer.Finish();
}

Result<size_t> DecodeIndexes(IndexCoding coding, uint32_t rice_parameter, uint32_t stripe_elements,
                             ByteSpan bytes, std::span<uint16_t> indexes) {
  CHECK_LE(stripe_elements, kMaxBlockElements);
  CHECK_LE(indexes.size(), stripe_elements);
  if (coding == IndexCoding::kRice) {
    return DecodeRice(rice_parameter, stripe_elements, bytes, indexes);
  }
  CHECK(coding == IndexCoding::kBitmap);
  return DecodeBitmap(stripe_elements, bytes, indexes);
}

}  // namespace weir::wire
