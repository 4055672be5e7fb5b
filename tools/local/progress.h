// Shows how a run is getting on, from the metrics that trainer 0 writes.
//
// On a terminal one line is rewritten; elsewhere a plain line comes about every five seconds.
// Results on test data get a line of their own in both. Until the first report there is a line that
// says so, because a run that waits must not look like one that hangs.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "common/base/clock.h"
#include "tools/local/metrics_tail.h"

namespace weir::tools {

// "50,000 of 100,000 samples (50 %)  8,130 samples/s  loss 0.4846  20.1 kB/step  00:06 left".
std::string TrainText(const MetricsRecord& record);
// "test after 50,000 samples  loss 0.4846  AUC 0.7577".
std::string TestText(const MetricsRecord& record);

// Where progress is shown.
struct Display {
  std::ostream& out;
  // The terminal's width; 0 when `out` is no terminal.
  int columns = 0;
};

class Progress {
 public:
  // `total_samples` of the run, for the time left; 0 if unknown.
  Progress(std::string metrics_path, int64_t total_samples, Display display, const Clock& clock);

  // Reads what is new and shows it, when it is time to.
  void Update();

  // A line between the progress lines.
  void Notice(const std::string& line);

  // Clears the rewritten line; nothing is shown after this.
  void Finish();

 private:
  bool terminal() const { return display_.columns > 0; }
  // Whether this is the time for another plain line; if so, notes it.
  bool Due(int64_t interval_ms);
  void ShowTrain();
  void ShowWaiting();
  void Rewrite(const std::string& text);

  MetricsTail tail_;
  const int64_t total_samples_;
  const Display display_;
  const Clock& clock_;
  const int64_t start_ms_;
  int64_t last_line_ms_;
  bool line_shown_ = false;
  bool train_is_new_ = false;
  std::optional<MetricsRecord> last_train_;
};

}  // namespace weir::tools
