#include "tools/local/metrics_tail.h"

#include <fstream>

#include "tools/local/json_fields.h"

namespace weir::tools {
namespace {

// A count that no arithmetic on it can overflow; 0 for what is absent or absurd.
int64_t CountAt(const nlohmann::json& json, const std::string& pointer) {
  constexpr double kMaxCount = 1e18;
  const double value = NumberAt(json, pointer).value_or(0);
  return value >= 0 && value <= kMaxCount ? static_cast<int64_t>(value) : 0;
}

}  // namespace

std::optional<MetricsRecord> ParseMetricsLine(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  MetricsRecord record;
  record.kind = TextAt(json, "/kind");
  record.seconds = NumberAt(json, "/seconds").value_or(0);
  record.samples = CountAt(json, "/samples");
  record.total_samples = CountAt(json, "/total_samples");
  record.samples_per_second = NumberAt(json, "/samples_per_second").value_or(0);
  record.steps = CountAt(json, "/steps");
  record.total_bytes = CountAt(json, "/bytes/total");
  record.logloss = NumberAt(json, "/logloss");
  record.auc = NumberAt(json, "/auc");
  return record;
}

std::vector<MetricsRecord> MetricsTail::ReadNew() {
  std::vector<MetricsRecord> records;
  std::ifstream file(path_, std::ios::binary);
  file.seekg(offset_);
  std::string line;
  while (std::getline(file, line) && !file.eof()) {
    offset_ = file.tellg();
    if (auto record = ParseMetricsLine(line)) records.push_back(*std::move(record));
  }
  return records;
}

}  // namespace weir::tools
