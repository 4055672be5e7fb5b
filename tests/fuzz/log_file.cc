#include "tests/fuzz/log_file.h"

#include <cstring>
#include <span>

#include "common/log/record.h"
#include "common/wire/checksum.h"
#include "tests/common/wire/reseal.h"

namespace weir::fuzz {
namespace {

constexpr size_t kChecksumAt = log::kPrefixBytes - sizeof(uint64_t);

void Reseal(uint8_t* record, size_t size) {
  std::memset(record + kChecksumAt, 0, sizeof(uint64_t));
  wire::Checksum checksum;
  checksum.Append({record, size});
  const uint64_t value = checksum.value();
  std::memcpy(record + kChecksumAt, &value, sizeof(value));
}

}  // namespace

Bytes ResealedRecords(const uint8_t* data, size_t size) {
  Bytes bytes(data, data + size);
  for (size_t at = 0; at < size;) {
    const auto prefix = log::ParsePrefix(ByteSpan(bytes).subspan(at));
    if (!prefix || prefix->byte_count() > size - at) break;
    wire::ResealAll(std::span(bytes).subspan(at + prefix->byte_count() - prefix->body_bytes,
                                             prefix->body_bytes));
    Reseal(bytes.data() + at, prefix->byte_count());
    at += prefix->byte_count();
  }
  return bytes;
}

}  // namespace weir::fuzz
