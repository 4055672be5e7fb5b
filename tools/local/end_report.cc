#include "tools/local/end_report.h"

#include <optional>

#include "common/base/strings.h"
#include "tools/local/json_fields.h"
#include "tools/local/number_text.h"

namespace weir::tools {
namespace {

using nlohmann::json;

// Of training that diverged, not all its digits.
std::string LossText(double loss) { return Format(loss < 1e4 ? "%.4f" : "%.4g", loss); }

std::string TrainLine(const json& summary) {
  const auto samples = NumberAt(summary, "/train/samples");
  const auto seconds = NumberAt(summary, "/train/seconds");
  const auto rate = NumberAt(summary, "/train/samples_per_second");
  if (!samples || !seconds || !rate) return "";
  std::string line = StrCat("  train   ", CountWithCommas(*samples), " samples in ",
                            Format("%.1f s, ", *seconds), CountWithCommas(*rate), " samples/s");
  if (const auto loss = NumberAt(summary, "/train/logloss")) {
    line += ", logloss " + LossText(*loss);
  }
  return line + "\n";
}

std::string TestLine(const json& summary) {
  const auto samples = NumberAt(summary, "/test/samples");
  if (samples.value_or(0) == 0) {
    const bool was_tested = NumberAt(summary, "/test/seconds").value_or(0) > 0;
    return was_tested ? "  test    data.test has no usable row; the trainers' logs tell why\n" : "";
  }
  std::string line = StrCat("  test    ", CountWithCommas(*samples), " samples");
  if (const auto loss = NumberAt(summary, "/test/logloss")) line += ", logloss " + LossText(*loss);
  if (const auto auc = NumberAt(summary, "/test/auc")) line += Format(", AUC %.4f", *auc);
  if (const auto best = NumberAt(summary, "/test/bayes_logloss")) {
    line += Format(" (the best logloss possible is %.4f)", *best);
  }
  if (const auto loss = NumberAt(summary, "/test/unmasked/logloss")) {
    line += Format("; with everything sent at the splits %.4f", *loss);
  }
  return line + "\n";
}

// " (28.8 times fewer)": than 32-bit values without indexes would have cost.
std::string TimesText(double bytes, std::optional<double> dense) {
  if (!dense || *dense <= 0) return "";
  const bool fewer = bytes <= *dense;
  const double times = fewer ? *dense / bytes : bytes / *dense;
  // Would be shown as 1.0 times.
  if (times < 1.05) return " (nothing saved)";
  return StrCat(" (", Format("%.1f", times), fewer ? " times fewer)" : " times more)");
}

std::string PerStepText(const json& summary, std::optional<double> bytes,
                        std::optional<double> dense) {
  const auto steps = NumberAt(summary, "/train/steps");
  if (!bytes || *bytes <= 0 || !(steps.value_or(0) > 0)) return "";
  return StrCat(FormatBytes(*bytes / *steps), " per step", TimesText(*bytes, dense));
}

std::string TrafficText(const json& summary, const std::string& kind) {
  return PerStepText(summary, NumberAt(summary, StrCat("/wire/", kind, "_bytes")),
                     NumberAt(summary, StrCat("/wire/", kind, "_bytes_dense")));
}

std::string TrafficLine(const std::string& title, const char* up_name, const std::string& up,
                        const char* down_name, const std::string& down) {
  if (up.empty() && down.empty()) return "";
  const auto shown = [](const std::string& text) { return text.empty() ? "nothing" : text; };
  return StrCat(title, up_name, " ", shown(up), ", ", down_name, " ", shown(down), "\n");
}

std::string ServerTrafficLine(const json& summary, const char* title, const std::string& prefix) {
  return TrafficLine(title, "push", TrafficText(summary, prefix + "push"), "pull",
                     TrafficText(summary, prefix + "pull"));
}

// A line for each link between two stages; none when they are in one process.
std::string LinkLines(const json& summary) {
  const auto splits = summary.find("splits");
  if (splits == summary.end() || !splits->is_array()) return "";
  std::string lines;
  for (const json& split : *splits) {
    const double dense = 4 * NumberAt(split, "/elements").value_or(0);
    lines +=
        TrafficLine(StrCat("  link    behind ", TextAt(split, "/after"), ", "), "forward",
                    PerStepText(summary, NumberAt(split, "/forward_link_bytes"), dense), "backward",
                    PerStepText(summary, NumberAt(split, "/backward_link_bytes"), dense));
  }
  return lines;
}

// What was kept of rows and what the cache gave, where there is any of it.
std::string RowsLine(const json& summary) {
  std::string line;
  const double gradients = NumberAt(summary, "/rows/gradients").value_or(0);
  const double sent = NumberAt(summary, "/rows/sent").value_or(0);
  if (sent < gradients) {
    line =
        StrCat("  rows    ", Format("%.1f %%", 100 * sent / gradients), " of row gradients sent");
    const double waiting = NumberAt(summary, "/rows/waiting").value_or(0);
    if (waiting > 0) line += StrCat(", ", CountWithCommas(waiting), " rows kept at the end");
  }
  if (const auto hit_rate = NumberAt(summary, "/rows/cache_hit_rate")) {
    const double age = NumberAt(summary, "/rows/cache_mean_age_steps").value_or(0);
    line += StrCat(line.empty() ? "  rows    " : ", ", Format("%.1f %%", 100 * *hit_rate),
                   " found in the cache", Format(", %.1f steps old on average", age));
  }
  return line.empty() ? line : line + "\n";
}

std::string TotalLine(const json& summary) {
  const auto bytes = NumberAt(summary, "/wire/total_bytes");
  if (bytes.value_or(0) <= 0) return "";
  return StrCat("  wire    ", FormatBytes(*bytes), " in all, both ways\n");
}

// What the one who started the run should know of it.
std::string WarningLines(const json& summary) {
  const auto warnings = summary.find("warnings");
  if (warnings == summary.end() || !warnings->is_array()) return "";
  std::string lines;
  for (const json& warning : *warnings) {
    if (warning.is_string()) lines += StrCat("  warning ", warning.get<std::string>(), "\n");
  }
  return lines;
}

}  // namespace

Result<std::string> EndReport(const std::string& summary_text) {
  const json summary = json::parse(summary_text, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object()) return InvalidData("summary.json is no JSON object");
  return StrCat(TrainLine(summary), TestLine(summary), ServerTrafficLine(summary, "  mlps    ", ""),
                ServerTrafficLine(summary, "  rows    ", "row_"), RowsLine(summary),
                LinkLines(summary), TotalLine(summary), WarningLines(summary));
}

}  // namespace weir::tools
