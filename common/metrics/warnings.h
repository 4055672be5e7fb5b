// What whoever started a run should know of it: that it learned nothing, or less than it might
// have, and the likely cause.
//
// Workers count what this needs, as they count everything (LabelReport, LargeColumnReport and
// others); what the counts come to is said here, in a sentence each, when the run is over. So a
// warning is of the whole run, however many workers it had, and each is told once: in the workers'
// logs, in summary.json and by weir-local.
//
// Reports come from other processes, so nothing in them is trusted to be consistent.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"

namespace weir::metrics {

// Rows of a group of LabelReport.
inline constexpr uint64_t kLabelGroupRows = 128;
// A dense column is large from this root of its mean square on. What log1p or standardise makes is
// below it.
inline constexpr double kLargeScale = 100;

// Which column, and what to do.
std::string Describe(const v1::LargeColumnReport& column);

// What the warnings are made of.
struct RunRecord {
  const v1::Config& config;
  std::span<const v1::EvaluationReport> evaluations;  // in their order
  bool goes_on = false;                               // from a saved model
};

// Adds the run's warnings to its report, which has everything else.
void AddWarnings(const RunRecord& record, v1::RunReport* report);

}  // namespace weir::metrics
