#include "tools/bench/paired_runs.h"

#include <utility>

#include "tools/bench/measure.h"

namespace weir::bench {

Result<std::vector<PairedTurn>> MeasureTurns(const std::vector<LocalRun>& runs, int turns) {
  std::vector<PairedTurn> measured(static_cast<size_t>(turns), PairedTurn(runs.size()));
  for (size_t t = 0; t < measured.size(); ++t) {
    for (size_t i = 0; i < runs.size(); ++i) {
      const size_t run = t % 2 == 0 ? i : runs.size() - 1 - i;
      WEIR_ASSIGN_OR_RETURN(measured[t][run], RunLocal(runs[run]));
    }
  }
  return measured;
}

double MedianOf(const std::vector<PairedTurn>& turns,
                const std::function<double(const PairedTurn&)>& of) {
  std::vector<double> values;
  values.reserve(turns.size());
  for (const PairedTurn& turn : turns) values.push_back(of(turn));
  return Median(std::move(values));
}

Line PairedLine(const std::string& name, const std::string& peer, double rate, double ratio,
                double goal) {
  return {.name = name,
          .value = rate,
          .unit = "samples/s",
          .peer = peer,
          .peer_value = rate / ratio,
          .goal = goal};
}

Line PairedLine(const std::string& name, const std::string& peer,
                const std::vector<PairedTurn>& turns, size_t run, size_t beside, double goal) {
  const double rate =
      MedianOf(turns, [run](const PairedTurn& turn) { return turn[run].samples_per_second; });
  const double ratio = MedianOf(turns, [run, beside](const PairedTurn& turn) {
    return turn[run].samples_per_second / turn[beside].samples_per_second;
  });
  return PairedLine(name, peer, rate, ratio, goal);
}

}  // namespace weir::bench
