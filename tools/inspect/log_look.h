// All files of a server's log as they are, each whole or with what is wrong in it: read by what a
// server reads it with when it is started anew, and, behind damage, from the next file on.
//
// Thread rule: any thread. The server may write on meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/file_system.h"
#include "common/base/status.h"
#include "common/log/record.h"
#include "common/proto/log.pb.h"

namespace weir::tools {

struct LogFileLook {
  std::string path;
  uint64_t bytes = 0;
  uint64_t first_number = 0;  // as its name says
  uint64_t record_count = 0;  // that are whole
  uint64_t whole_bytes = 0;   // of these
  std::map<std::string, uint64_t> kinds;
  std::optional<v1::LogStart> start;
  uint64_t run = 0;      // 0: not known in it
  bool is_gone = false;  // since the folder was looked at
  std::vector<Status> damage;

  uint64_t last_number() const { return first_number + record_count - 1; }
  uint64_t torn_bytes() const { return bytes - whole_bytes; }
};

// Hears of each whole record, of so many bytes.
using HearRecord = std::function<void(const log::Record& record, uint64_t bytes)>;

// In their order.
Result<std::vector<LogFileLook>> LookAtLog(FileSystem& files, const std::string& folder,
                                           const HearRecord& hear);

// What two starts of one server's log do not differ in; OK where they do not.
Status CheckSameServer(const v1::LogStart& start, const v1::LogStart& first);

}  // namespace weir::tools
