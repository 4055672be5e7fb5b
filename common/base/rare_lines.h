// Lines about what others do, who may do it without end: of each at most one a second, with a count
// of those between that were not told.
//
// Thread rule: owner thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir {

class RareLines {
 public:
  // What is to be told of who now; nothing: it is counted.
  std::optional<std::string> Take(const std::string& who, const std::string& line, int64_t now_ms);
  // A line for each of whom something was counted a second ago or more. Call it now and then.
  std::vector<std::string> TakeCounted(int64_t now_ms);

 private:
  struct Told {
    int64_t told_ms = 0;
    uint64_t untold = 0;
    std::string last;  // of those
  };

  // Who has just come is one of too many: they are told of together.
  static constexpr size_t kMostSenders = 100;

  std::map<std::string, Told> senders_;
};

// Such lines as warnings of the log.
class RareWarnings {
 public:
  void Warn(const std::string& who, const std::string& line);
  // Of what was counted. Call it now and then.
  void WarnOfCounted();

 private:
  RareLines lines_;
};

}  // namespace weir
