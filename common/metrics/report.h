// Arithmetic on reports: the sum over workers, and the figures that follow from the counters.
//
// Reports come from other processes, so nothing in them is trusted to be consistent.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/status.h"
#include "common/proto/report.pb.h"

namespace weir::metrics {

inline constexpr char kMixedPolicy[] = "mixed";

// Sums every counter; layers are matched by name and keep the order of their first appearance, a
// layer's threshold is the mean of the workers', the norm of its residual the root of their mean
// square. Workers may choose different policies for a layer, whose sum is then called kMixedPolicy.
// InvalidData when they disagree about a layer's size, or a histogram is malformed.
Result<v1::WorkerReport> MergeReports(std::span<const v1::WorkerReport> reports);
// Of sums too, in any grouping.
Result<v1::WorkerReport> MergeReports(const v1::WorkerReport& first,
                                      const v1::WorkerReport& second);

// What of a report still holds when its worker is gone: what it counted, not what it was like last.
void ForgetGauges(v1::WorkerReport* report);

// Both directions, each byte once. Links connect two workers, which both count: there only what was
// sent is taken.
v1::KindBytes WireBytes(const v1::WorkerReport& report);

uint64_t TotalBytes(const v1::KindBytes& bytes);

// NaN unless the denominator is above 0.
double Ratio(double numerator, double denominator);

// Elements sent over elements times steps; NaN before the first step.
double Density(const v1::LayerReport& layer);

}  // namespace weir::metrics
