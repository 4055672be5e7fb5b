// Runs beside each other in turns, in an order that is turned round each time: what a few percent
// cost, where the machine's speed changes by more from run to run. The median of the turns' ratios
// counts.
//
// Thread rule: one thread at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tools/bench/line.h"
#include "tools/bench/local_run.h"

namespace weir::bench {

// A result of each run, as they were given.
using PairedTurn = std::vector<LocalResult>;

Result<std::vector<PairedTurn>> MeasureTurns(const std::vector<LocalRun>& runs, int turns);

double MedianOf(const std::vector<PairedTurn>& turns,
                const std::function<double(const PairedTurn&)>& of);

// Samples/s of one of the runs beside another, which is the peer: its value is this one's divided
// by the ratio.
Line PairedLine(const std::string& name, const std::string& peer, double rate, double ratio,
                double goal);
Line PairedLine(const std::string& name, const std::string& peer,
                const std::vector<PairedTurn>& turns, size_t run, size_t beside, double goal);

}  // namespace weir::bench
