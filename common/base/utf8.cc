#include "common/base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace weir {
namespace {

// Bytes of the character that begins with this one, and the range of the second byte: it keeps out
// what could be written shorter, surrogates, and what lies beyond Unicode. 0: none begins so.
struct Lead {
  uint8_t length, low, high;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

// A whole number of words at the beginning in which all bytes are ASCII.
size_t AsciiBytes(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t i = 0;
  for (uint64_t word; i + sizeof(word) <= text.size(); i += sizeof(word)) {
    std::memcpy(&word, text.data() + i, sizeof(word));
    if ((word & kHighBits) != 0) break;
  }
  return i;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = AsciiBytes(text); i < text.size();) {
    const Lead lead = LeadOf(static_cast<uint8_t>(text[i]));
    if (lead.length == 0 || text.size() - i < lead.length) return false;
    for (size_t k = 1; k < lead.length; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      const uint8_t low = k == 1 ? lead.low : 0x80, high = k == 1 ? lead.high : 0xbf;
      if (byte < low || byte > high) return false;
    }
    i += lead.length;
  }
  return true;
}

std::string ToUtf8(std::string text) {
  if (IsUtf8(text)) return text;
  std::ranges::replace_if(
      text, [](char c) { return static_cast<uint8_t>(c) >= 0x80; }, '?');
  return text;
}

}  // namespace weir
