// Signs that a model has fallen apart while it was trained, as it does where steps are too long or
// too many batches are at work at once: ReLUs that give 0 for every row, parameters that do not
// change any more, a loss that is what saying the same of every row has.
//
// Thread rule: any thread.
#pragma once

#include <string>

#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"

namespace weir::metrics {

// Each a clause, empty where all is well. total: of all workers, not trusted to be consistent.

// Of the layer with the largest share of dead ReLUs.
std::string DescribeDeadUnits(const v1::WorkerReport& total);

// Of the dense parameters, what came down in the last part of the run and in the first one; where
// everything is sent, that is what has a gradient.
std::string DescribeThinAnswers(const v1::WorkerReport& total);

// Of the part of the run with the highest loss: it was above what an even guess has.
std::string DescribeBurst(const v1::Config& config, const v1::WorkerReport& total);

// Of the last part of the run.
std::string DescribeLateLoss(const v1::Config& config, const v1::WorkerReport& total);

}  // namespace weir::metrics
