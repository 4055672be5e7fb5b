#include "common/metrics/bounded.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/strings.h"

namespace weir::metrics {

nlohmann::ordered_json BoundedJson(const v1::RunReport& report) {
  nlohmann::ordered_json trainers = nlohmann::ordered_json::array();
  for (const v1::BoundedReport& bounded : report.bounded()) {
    trainers.push_back({{"trainer", bounded.trainer()},
                        {"pushes", bounded.pushes()},
                        {"pieces", bounded.pieces()},
                        {"rows", bounded.rows()}});
  }
  return trainers;
}

// Who has a trainer's secret may push what it likes, and so may one whose data or machine is bad.
std::string DescribeBounded(const v1::RunReport& report) {
  constexpr int kMost = 20;
  const auto& bounded = report.bounded();
  if (bounded.empty()) return "";
  std::vector<std::string> trainers;
  for (int i = 0; i < std::min(bounded.size(), kMost); ++i) {
    const v1::BoundedReport& each = bounded[i];
    trainers.push_back(StrCat(each.trainer(), " (pushes: ", each.pushes(),
                              ", pieces: ", each.pieces(), ", rows: ", each.rows(), ")"));
  }
  if (bounded.size() > kMost) trainers.push_back(StrCat(bounded.size() - kMost, " more"));
  return StrCat("servers scaled down what was pushed with a norm above max_push_norm ",
                "(update.dense, update.rows), of trainer ", StrJoin(trainers, ", "),
                ": look at who is far above the others; where all are alike, the bound is too low");
}

}  // namespace weir::metrics
