#include "common/cluster/report_book.h"

#include <utility>
#include <vector>

#include "common/metrics/report.h"

namespace weir::cluster {

void ReportBook::Begin(Seat seat) {
  const auto [entry, is_new] = reports_.try_emplace(seat);
  if (is_new) return;
  Reports& reports = entry->second;
  metrics::ForgetGauges(&reports.present);
  const v1::WorkerReport both[] = {reports.earlier.value_or(v1::WorkerReport()), reports.present};
  auto earlier = metrics::MergeReports(both);
  if (earlier.ok()) reports.earlier = *std::move(earlier);
  reports.present.Clear();
}

Status ReportBook::Take(Seat seat, const v1::WorkerReport& report) {
  v1::WorkerReport& present = reports_[seat].present;
  v1::WorkerReport before = std::exchange(present, report);
  auto merged = Merge();
  if (!merged.ok()) {
    present = std::move(before);
    return merged.status();
  }
  merged_ = *std::move(merged);
  return OkStatus();
}

void ReportBook::ForgetGauges(Seat seat) {
  metrics::ForgetGauges(&reports_[seat].present);
  if (auto merged = Merge(); merged.ok()) merged_ = *std::move(merged);
}

Result<v1::WorkerReport> ReportBook::Merge() const {
  std::vector<v1::WorkerReport> all;
  for (const auto& [seat, reports] : reports_) {
    all.push_back(reports.present);
    if (reports.earlier) all.push_back(*reports.earlier);
  }
  return metrics::MergeReports(all);
}

}  // namespace weir::cluster
