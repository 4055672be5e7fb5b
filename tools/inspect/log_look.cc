#include "tools/inspect/log_look.h"

#include <algorithm>

#include "common/base/strings.h"
#include "common/log/reader.h"
#include "common/log/segments.h"
#include "tools/inspect/record_text.h"

namespace weir::tools {
namespace {

class LogLooker {
 public:
  LogLooker(FileSystem& files, const std::string& folder, const HearRecord& hear)
      : files_(files), folder_(folder), hear_(hear) {}

  Result<std::vector<LogFileLook>> Run() {
    WEIR_ASSIGN_OR_RETURN(const auto segments, log::FindSegments(files_, folder_));
    for (const log::Segment& segment : segments) {
      LogFileLook& look = looks_.emplace_back();
      look.path = segment.path;
      look.first_number = segment.first_number;
    }
    while (at_ < looks_.size()) {
      const Status status = ReadFrom(looks_[at_].first_number);
      if (status.ok()) break;
      if (status.code() == StatusCode::kNotFound) {
        looks_[at_].is_gone = true;
      } else {
        looks_[at_].damage.push_back(status);
      }
      ++at_;
    }
    return std::move(looks_);
  }

 private:
  // Up to the end of the log, or what is wrong in the file that it came to.
  Status ReadFrom(uint64_t number) {
    WEIR_ASSIGN_OR_RETURN(looks_[at_].bytes, files_.Size(looks_[at_].path));
    WEIR_ASSIGN_OR_RETURN(log::LogReader reader, log::LogReader::Open(files_, folder_, number));
    while (true) {
      const auto record = reader.Next();
      WEIR_RETURN_IF_ERROR(ComeTo(reader.path()));
      if (!record.ok()) return record.status();
      if (!*record) return OkStatus();
      Take(**record, reader.offset());
    }
  }

  Status ComeTo(const std::string& path) {
    while (looks_[at_].path != path && at_ + 1 < looks_.size()) {
      ++at_;
      WEIR_ASSIGN_OR_RETURN(looks_[at_].bytes, files_.Size(looks_[at_].path));
    }
    return OkStatus();
  }

  void Take(const log::Record& record, uint64_t end) {
    LogFileLook& look = looks_[at_];
    const uint64_t begin = look.whole_bytes;
    if (Status status = Check(record); !status.ok()) {
      look.damage.push_back(InvalidData(StrCat(look.path, " at byte ", begin, ": record ",
                                               record.number, ": ", status.message())));
    }
    ++look.record_count;
    look.whole_bytes = end;
    look.bytes = std::max(look.bytes, end);  // a server writes on
    ++look.kinds[KindOf(record.header)];
    if (record.header.start().run() != 0) look.run = record.header.start().run();
    if (record.header.hello().run() != 0) look.run = record.header.hello().run();
    hear_(record, end - begin);
  }

  Status Check(const log::Record& record) {
    LogFileLook& look = looks_[at_];
    if (look.record_count > 0) return CheckRecord(record);
    if (!record.header.has_start()) return InvalidData("a file that does not begin with a start");
    look.start = record.header.start();
    if (!first_) first_ = look.start;
    return CheckSameServer(*look.start, *first_);
  }

  FileSystem& files_;
  const std::string& folder_;
  const HearRecord& hear_;
  std::vector<LogFileLook> looks_;
  size_t at_ = 0;
  std::optional<v1::LogStart> first_;
};

}  // namespace

Result<std::vector<LogFileLook>> LookAtLog(FileSystem& files, const std::string& folder,
                                           const HearRecord& hear) {
  return LogLooker(files, folder, hear).Run();
}

Status CheckSameServer(const v1::LogStart& start, const v1::LogStart& first) {
  if (start.shard() != first.shard()) {
    return InvalidData(
        StrCat("it is of shard ", start.shard(), ", what is before it of ", first.shard()));
  }
  if (start.nonce() != first.nonce() ||
      start.identity().SerializeAsString() != first.identity().SerializeAsString()) {
    return InvalidData("it is of another server than what is before it");
  }
  return OkStatus();
}

}  // namespace weir::tools
