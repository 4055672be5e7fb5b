// The two forms of weir-bench's results: a table for people, JSON for scripts.
//
// The JSON is {"lines": [{"name", "value", "unit", "peer", "peer_value", "ratio", "goal"}],
// "machine": {...}}; ratio and goal are both "more is better"; peer_value and ratio are null where
// the peer could not be measured, goal where there is none.
//
// Thread rule: pure.
#pragma once

#include <ostream>
#include <string>

#include "tools/bench/line.h"
#include "tools/bench/machine.h"

namespace weir::bench {

void PrintMachine(const Machine& machine, std::ostream& out);
void PrintTable(const Lines& lines, std::ostream& out);
std::string ToJson(const Lines& lines, const Machine& machine);

}  // namespace weir::bench
