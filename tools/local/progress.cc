#include "tools/local/progress.h"

#include <cmath>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "tools/local/number_text.h"

namespace weir::tools {
namespace {

constexpr int64_t kLineIntervalMs = 5000;
constexpr int64_t kWaitingIntervalMs = 15000;
constexpr double kMaxShownSeconds = 1e7;

std::string LossText(const MetricsRecord& record) {
  return record.logloss ? StrCat("loss ", Format("%.4f", *record.logloss)) : "";
}

std::string SamplesText(const MetricsRecord& record) {
  std::string text = CountWithCommas(static_cast<double>(record.samples));
  if (record.total_samples == 0) return text + " samples";
  const double percent =
      100 * static_cast<double>(record.samples) / static_cast<double>(record.total_samples);
  return StrCat(text, " of ", CountWithCommas(static_cast<double>(record.total_samples)),
                " samples (", Format("%.0f", std::floor(percent)), " %)");
}

std::string TimeLeftText(const MetricsRecord& record) {
  if (record.total_samples < record.samples || !(record.samples_per_second > 0)) return "";
  const double seconds =
      static_cast<double>(record.total_samples - record.samples) / record.samples_per_second;
  return seconds < kMaxShownSeconds ? StrCat(DurationText(seconds), " left") : "";
}

std::string JoinColumns(std::vector<std::string> columns) {
  std::erase_if(columns, [](const std::string& column) { return column.empty(); });
  return StrJoin(columns, "  ");
}

}  // namespace

std::string TrainText(const MetricsRecord& record) {
  std::string bytes;
  if (record.steps > 0 && record.total_bytes > 0) {
    bytes = StrCat(
        FormatBytes(static_cast<double>(record.total_bytes) / static_cast<double>(record.steps)),
        "/step");
  }
  return JoinColumns({SamplesText(record),
                      StrCat(CountWithCommas(record.samples_per_second), " samples/s"),
                      LossText(record), bytes, TimeLeftText(record)});
}

std::string TestText(const MetricsRecord& record) {
  const std::string auc = record.auc ? StrCat("AUC ", Format("%.4f", *record.auc)) : "";
  return JoinColumns(
      {StrCat("test after ", CountWithCommas(static_cast<double>(record.samples)), " samples"),
       LossText(record), auc});
}

Progress::Progress(std::string metrics_path, int64_t total_samples, Display display,
                   const Clock& clock)
    : tail_(std::move(metrics_path)),
      total_samples_(total_samples),
      display_(display),
      clock_(clock),
      start_ms_(clock.NowMs()),
      last_line_ms_(start_ms_) {}

void Progress::Update() {
  for (MetricsRecord& record : tail_.ReadNew()) {
    if (record.kind == "test") {
      Notice(TestText(record));
    } else if (record.kind == "train") {
      if (record.total_samples == 0) record.total_samples = total_samples_;
      last_train_ = std::move(record);
      train_is_new_ = true;
    }
  }
  if (!last_train_) {
    ShowWaiting();
  } else if (train_is_new_) {
    ShowTrain();
  }
}

void Progress::Notice(const std::string& line) {
  Finish();
  display_.out << line << std::endl;
}

void Progress::Finish() {
  if (line_shown_) display_.out << "\r\x1b[K" << std::flush;
  line_shown_ = false;
}

bool Progress::Due(int64_t interval_ms) {
  const int64_t now_ms = clock_.NowMs();
  if (now_ms - last_line_ms_ < interval_ms) return false;
  last_line_ms_ = now_ms;
  return true;
}

void Progress::ShowTrain() {
  if (terminal()) {
    Rewrite(TrainText(*last_train_));
  } else if (Due(kLineIntervalMs)) {
    display_.out << TrainText(*last_train_) << std::endl;
  } else {
    return;
  }
  train_is_new_ = false;
}

void Progress::ShowWaiting() {
  const int64_t waited_s = (clock_.NowMs() - start_ms_) / 1000;
  const std::string text = StrCat("no report from trainer-0 yet, after ", waited_s, " s");
  if (terminal()) {
    if (waited_s > 0) Rewrite(text);
  } else if (Due(kWaitingIntervalMs)) {
    display_.out << text << std::endl;
  }
}

void Progress::Rewrite(const std::string& text) {
  // A line that fills the last column would wrap and could not be rewritten.
  display_.out << "\r" << text.substr(0, static_cast<size_t>(display_.columns - 1)) << "\x1b[K"
               << std::flush;
  line_shown_ = true;
}

}  // namespace weir::tools
