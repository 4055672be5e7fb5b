#include "common/base/rare_lines.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/strings.h"

namespace weir {
namespace {

constexpr int64_t kIntervalMs = 1000;
constexpr const char* kOthers = "others";

}  // namespace

std::optional<std::string> RareLines::Take(const std::string& who, const std::string& line,
                                           int64_t now_ms) {
  const bool is_known = senders_.contains(who);
  const bool is_one_of_many = !is_known && senders_.size() >= kMostSenders;
  const auto [found, is_new] = senders_.try_emplace(is_one_of_many ? kOthers : who);
  Told& told = found->second;
  if (!is_new && now_ms - told.told_ms < kIntervalMs) {
    ++told.untold;
    told.last = line;
    return std::nullopt;
  }
  std::string text = line;
  if (told.untold > 0) text += StrCat(" (", told.untold, " more like it before were not told)");
  told = {.told_ms = now_ms, .untold = 0, .last = {}};
  return text;
}

std::vector<std::string> RareLines::TakeCounted(int64_t now_ms) {
  std::vector<std::string> lines;
  for (auto entry = senders_.begin(); entry != senders_.end();) {
    Told& told = entry->second;
    if (now_ms - told.told_ms < kIntervalMs) {
      ++entry;
      continue;
    }
    if (told.untold == 0) {
      entry = senders_.erase(entry);
      continue;
    }
    lines.push_back(told.untold == 1 ? told.last
                                     : StrCat(told.last, " (", told.untold - 1,
                                              " more like it before were not told)"));
    told = {.told_ms = now_ms, .untold = 0, .last = {}};
    ++entry;
  }
  return lines;
}

// Who has been silent since makes room for others.
void RareWarnings::Warn(const std::string& who, const std::string& line) {
  WarnOfCounted();
  if (const auto told = lines_.Take(who, line, Clock::Real().NowMs())) LOG(WARNING) << *told;
}

void RareWarnings::WarnOfCounted() {
  for (const std::string& line : lines_.TakeCounted(Clock::Real().NowMs())) LOG(WARNING) << line;
}

}  // namespace weir
