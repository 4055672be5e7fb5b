#include "tools/bench/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/base/strings.h"

namespace weir::bench {
namespace {

// Four significant digits, without an exponent: 0.1442, 28.1, 30210.
std::string Number(double value) {
  const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : value >= 1 ? 3 : 4;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string OrDash(double value) { return value > 0 ? Number(value) : "-"; }

nlohmann::json OrNull(double value) {
  return value > 0 ? nlohmann::json(value) : nlohmann::json(nullptr);
}

void PrintRow(const std::string& name, size_t name_width, const std::string& value,
              const std::string& unit, const std::string& peer_value, const std::string& ratio,
              const std::string& goal, const std::string& peer, std::ostream& out) {
  char text[512];
  std::snprintf(text, sizeof text, "%-*s %10s %-14s %10s %7s %6s", static_cast<int>(name_width),
                name.c_str(), value.c_str(), unit.c_str(), peer_value.c_str(), ratio.c_str(),
                goal.c_str());
  out << text << "  " << peer << "\n";  // of any length: why there is none may be told here
}

}  // namespace

void PrintMachine(const Machine& machine, std::ostream& out) {
  out << machine.processor << ", " << machine.simd << ", " << machine.core_count << " cores, "
      << Number(machine.memory_gib) << " GiB; " << machine.compiler << "; commit " << machine.commit
      << "\n";
}

void PrintTable(const Lines& lines, std::ostream& out) {
  size_t name_width = 4;
  for (const Line& line : lines) name_width = std::max(name_width, line.name.size());
  PrintRow("line", name_width, "value", "unit", "peer", "ratio", "goal", "peer is", out);
  for (const Line& line : lines) {
    PrintRow(line.name, name_width, Number(line.value), line.unit, OrDash(line.peer_value),
             OrDash(line.Ratio()), OrDash(line.goal), line.peer, out);
  }
}

std::string ToJson(const Lines& lines, const Machine& machine) {
  nlohmann::ordered_json root;
  root["lines"] = nlohmann::ordered_json::array();
  for (const Line& line : lines) {
    nlohmann::ordered_json entry;
    entry["name"] = line.name;
    entry["value"] = line.value;
    entry["unit"] = line.unit;
    entry["peer"] = line.peer;
    entry["peer_value"] = OrNull(line.peer_value);
    entry["ratio"] = OrNull(line.Ratio());
    entry["goal"] = OrNull(line.goal);
    root["lines"].push_back(std::move(entry));
  }
  root["machine"] = {{"processor", machine.processor}, {"simd", machine.simd},
                     {"cores", machine.core_count},    {"memory_gib", machine.memory_gib},
                     {"compiler", machine.compiler},   {"commit", machine.commit}};
  return root.dump(2) + "\n";
}

}  // namespace weir::bench
