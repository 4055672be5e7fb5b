#include "common/log/reader.h"

#include <algorithm>
#include <utility>

#include "common/base/strings.h"

namespace weir::log {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{4} << 20;

}  // namespace

LogReader::LogReader(FileSystem& files, std::vector<Segment> segments)
    : files_(&files),
      segments_(std::move(segments)),
      next_number_(segments_.front().first_number) {}

Result<LogReader> LogReader::Open(FileSystem& files, const std::string& folder,
                                  uint64_t first_number) {
  WEIR_ASSIGN_OR_RETURN(std::vector<Segment> segments, FindSegments(files, folder));
  if (segments.empty()) return NotFound(StrCat("there is no log in ", folder));
  while (segments.size() > 1 && segments[1].first_number <= first_number) {
    segments.erase(segments.begin());
  }
  if (segments.front().first_number > first_number) {
    return InvalidData(StrCat("the log in ", folder, " begins with record ",
                              segments.front().first_number, ", behind the ", first_number,
                              " that is needed"));
  }
  LogReader reader(files, std::move(segments));
  for (const Segment& segment : reader.segments_) {
    WEIR_ASSIGN_OR_RETURN(const uint64_t size, files.Size(segment.path));
    reader.total_bytes_ += size;
  }
  WEIR_RETURN_IF_ERROR(reader.BeginFile());
  return reader;
}

Status LogReader::BeginFile() {
  offset_ = block_offset_ = 0;
  block_.clear();
  WEIR_ASSIGN_OR_RETURN(size_, files_->Size(segments_.front().path));
  return OkStatus();
}

Result<std::optional<Record>> LogReader::Next() {
  while (!segments_.empty()) {
    WEIR_ASSIGN_OR_RETURN(std::optional<Record> record, ReadHere());
    if (record) {
      ++next_number_;
      return record;
    }
    WEIR_RETURN_IF_ERROR(LeaveFile());
  }
  return std::optional<Record>();
}

Result<ByteSpan> LogReader::Look(uint64_t byte_count) {
  if (offset_ < block_offset_ || offset_ + byte_count > block_offset_ + block_.size()) {
    WEIR_ASSIGN_OR_RETURN(
        block_, files_->Read(segments_.front().path, offset_, std::max(byte_count, kBlockBytes)));
    block_offset_ = offset_;
  }
  const ByteSpan there = ByteSpan(block_).subspan(offset_ - block_offset_);
  return there.first(std::min<size_t>(there.size(), byte_count));
}

// Lengths are believed as far as the file goes.
Result<std::optional<Record>> LogReader::ReadHere() {
  WEIR_ASSIGN_OR_RETURN(const ByteSpan beginning, Look(kPrefixBytes));
  const auto prefix = ParsePrefix(beginning);
  if (!prefix || prefix->number != next_number_) return std::optional<Record>();
  if (prefix->byte_count() > size_ - offset_) return std::optional<Record>();
  WEIR_ASSIGN_OR_RETURN(const ByteSpan whole, Look(prefix->byte_count()));
  std::optional<Record> record = ParseRecord(*prefix, whole);
  if (record) offset_ += prefix->byte_count();
  return record;
}

// The process that began the next file went on with what it could read of this one.
Status LogReader::LeaveFile() {
  const bool is_last = segments_.size() == 1;
  if (!is_last && segments_[1].first_number != next_number_) {
    return Damaged(StrCat("record ", next_number_, " is not there, and ", segments_[1].path,
                          " goes on behind it"));
  }
  if (is_last) WEIR_RETURN_IF_ERROR(CheckTorn());
  if (is_last) torn_bytes_ = size_ - offset_;
  done_bytes_ += size_;
  offset_ = 0;
  segments_.erase(segments_.begin());
  return is_last ? OkStatus() : BeginFile();
}

// Any whole record behind it that was written once this one was promised tells that it is damaged.
Status LogReader::CheckTorn() {
  const std::string& path = segments_.front().path;
  WEIR_ASSIGN_OR_RETURN(const Bytes rest, files_->Read(path, offset_, size_ - offset_));
  for (size_t at = 0; at + kPrefixBytes <= rest.size(); ++at) {
    const ByteSpan here = ByteSpan(rest).subspan(at);
    const auto prefix = ParsePrefix(here);
    if (!prefix || prefix->durable < next_number_ || prefix->byte_count() > here.size()) continue;
    if (ParseRecord(*prefix, here.first(prefix->byte_count()))) {
      return Damaged(StrCat("record ", next_number_, " is damaged; record ", prefix->number,
                            " behind it is whole"));
    }
  }
  return OkStatus();
}

Status LogReader::Damaged(const std::string& what) const {
  return InvalidData(StrCat(segments_.front().path, " at byte ", offset_, ": ", what));
}

}  // namespace weir::log
