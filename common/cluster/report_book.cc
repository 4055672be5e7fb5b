#include "common/cluster/report_book.h"

#include <utility>
#include <vector>

#include "common/metrics/report.h"

namespace weir::cluster {
namespace {

// How old a sum may be, for each report in it: to make it takes some hundredths of a millisecond
// for each, so the share of a processor's time is the same however many there are.
constexpr int64_t kFreshMsOfReport = 5;

}  // namespace

Status ReportBook::Take(Seat seat, const v1::WorkerReport& report) {
  const v1::WorkerReport both[] = {known_, report};
  WEIR_ASSIGN_OR_RETURN(known_, metrics::MergeReports(both));
  present_[seat] = report;
  is_stale_ = true;
  return OkStatus();
}

void ReportBook::Close(Seat seat) {
  const auto found = present_.find(seat);
  if (found == present_.end()) return;
  metrics::ForgetGauges(&found->second);
  const v1::WorkerReport both[] = {gone_, found->second};
  if (auto merged = metrics::MergeReports(both); merged.ok()) gone_ = *std::move(merged);
  present_.erase(found);
  is_stale_ = true;
}

const v1::WorkerReport& ReportBook::Merged(int64_t now_ms) {
  const auto fresh_ms = kFreshMsOfReport * static_cast<int64_t>(present_.size());
  if (!is_stale_ || (merged_ms_ && now_ms - *merged_ms_ < fresh_ms)) return merged_;
  merged_ = MergedNow();
  merged_ms_ = now_ms;
  is_stale_ = false;
  return merged_;
}

v1::WorkerReport ReportBook::MergedNow() const {
  std::vector<v1::WorkerReport> all = {gone_};
  for (const auto& [seat, report] : present_) all.push_back(report);
  auto merged = metrics::MergeReports(all);
  return merged.ok() ? *std::move(merged) : v1::WorkerReport();  // Take lets none in that differs
}

}  // namespace weir::cluster
