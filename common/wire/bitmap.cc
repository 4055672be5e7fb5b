#include "common/wire/bitmap.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/wire/index_coding.h"

namespace weir::wire {
namespace {

using Words = std::array<uint64_t, kMaxStripeElements / 64>;

}  // namespace

void AppendBitmap(std::span<const uint16_t> indexes, uint32_t stripe_elements, Bytes* out) {
  CHECK_LE(stripe_elements, kMaxStripeElements);
  CHECK(indexes.empty() || indexes.back() < stripe_elements);
  Words words{};
  uint64_t word = 0;  // of words[at], kept out of memory while it fills
  size_t at = 0;
  for (const uint16_t index : indexes) {
    if (index / 64u != at) {
      words[at] = std::exchange(word, 0);
      at = index / 64u;
    }
    word |= uint64_t{1} << index % 64;
  }
  words[at] = word;
  ByteWriter(*out).PutRaw(words.data(), BitmapBytes(stripe_elements));
}

Status DecodeBitmap(ByteSpan bytes, uint32_t stripe_elements, std::span<uint16_t> indexes) {
  CHECK_LE(stripe_elements, kMaxStripeElements);
  CHECK_EQ(bytes.size(), BitmapBytes(stripe_elements));
  Words words{};
  std::memcpy(words.data(), bytes.data(), bytes.size());
  if (stripe_elements % 8 != 0 && bytes.back() >> stripe_elements % 8 != 0) {
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
  return OkStatus();
}

}  // namespace weir::wire
