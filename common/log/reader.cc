#include "common/log/reader.h"

#include <algorithm>

#include "common/base/strings.h"

namespace weir::log {

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
  WEIR_ASSIGN_OR_RETURN(RecordReader file, RecordReader::Open(files, segments.front().path));
  LogReader reader(files, std::move(segments), std::move(file));
  for (const Segment& segment : reader.segments_) {
    WEIR_ASSIGN_OR_RETURN(const uint64_t size, files.Size(segment.path));
    reader.total_bytes_ += size;
  }
  WEIR_RETURN_IF_ERROR(reader.SkipTo(first_number));
  return reader;
}

// Where the log was lost up to there, and who reads knows that from elsewhere, it goes on from it.
Status LogReader::SkipTo(uint64_t number) {
  while (next_number_ < number) {
    WEIR_ASSIGN_OR_RETURN(const std::optional<Record> record, Next());
    if (!record) break;
  }
  next_number_ = std::max(next_number_, number);
  return OkStatus();
}

Result<std::optional<Record>> LogReader::Next() {
  while (!segments_.empty()) {
    WEIR_ASSIGN_OR_RETURN(std::optional<Record> record, file_.Next(next_number_));
    if (record) {
      ++next_number_;
      return record;
    }
    WEIR_RETURN_IF_ERROR(LeaveFile());
  }
  return std::optional<Record>();
}

// The process that began the next file went on with what it could read of this one.
Status LogReader::LeaveFile() {
  const bool is_last = segments_.size() == 1;
  if (!is_last && segments_[1].first_number != next_number_) {
    return file_.Damaged(StrCat("record ", next_number_, " is not there, and ", segments_[1].path,
                                " goes on behind it"));
  }
  if (is_last) WEIR_RETURN_IF_ERROR(CheckTorn());
  if (is_last) torn_bytes_ = file_.size() - file_.offset();
  done_bytes_ += file_.size();
  segments_.erase(segments_.begin());
  if (is_last) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(file_, RecordReader::Open(*files_, segments_.front().path));
  return OkStatus();
}

// Any whole record behind it that was written once this one was promised tells that it is damaged.
Status LogReader::CheckTorn() const {
  WEIR_ASSIGN_OR_RETURN(const Bytes rest, file_.Rest());
  for (size_t at = 0; at + kPrefixBytes <= rest.size(); ++at) {
    const ByteSpan here = ByteSpan(rest).subspan(at);
    const auto prefix = ParsePrefix(here);
    if (!prefix || prefix->durable < next_number_ || prefix->byte_count() > here.size()) continue;
    if (ParseRecord(*prefix, here.first(prefix->byte_count()))) {
      return file_.Damaged(StrCat("record ", next_number_, " is damaged; record ", prefix->number,
                                  " behind it is whole"));
    }
  }
  return OkStatus();
}

}  // namespace weir::log
