#include "common/log/record_reader.h"

#include <algorithm>

#include "common/base/strings.h"

namespace weir::log {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{4} << 20;

}  // namespace

Result<RecordReader> RecordReader::Open(FileSystem& files, const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(const uint64_t size, files.Size(path));
  return RecordReader(files, path, size);
}

Result<ByteSpan> RecordReader::Look(uint64_t byte_count) {
  if (offset_ < block_offset_ || offset_ + byte_count > block_offset_ + block_.size()) {
    WEIR_ASSIGN_OR_RETURN(block_, files_->Read(path_, offset_, std::max(byte_count, kBlockBytes)));
    block_offset_ = offset_;
  }
  const ByteSpan there = ByteSpan(block_).subspan(offset_ - block_offset_);
  return there.first(std::min<size_t>(there.size(), byte_count));
}

// Lengths are believed as far as the file goes.
Result<std::optional<Record>> RecordReader::Next(uint64_t number) {
  WEIR_ASSIGN_OR_RETURN(const ByteSpan beginning, Look(kPrefixBytes));
  const auto prefix = ParsePrefix(beginning);
  if (!prefix || prefix->number != number) return std::optional<Record>();
  if (prefix->byte_count() > size_ - offset_) return std::optional<Record>();
  WEIR_ASSIGN_OR_RETURN(const ByteSpan whole, Look(prefix->byte_count()));
  std::optional<Record> record = ParseRecord(*prefix, whole);
  if (record) offset_ += prefix->byte_count();
  return record;
}

Status RecordReader::Damaged(const std::string& what) const {
  return InvalidData(StrCat(path_, " at byte ", offset_, ": ", what));
}

}  // namespace weir::log
