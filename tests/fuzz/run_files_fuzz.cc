// What weir-local reads of its processes' files: lines of metrics.jsonl, and a log's end. The input
// is the file, which is read as both.
#include <cmath>

#include "tests/fuzz/memory_folder.h"
#include "tests/fuzz/target.h"
#include "tools/local/log_excerpt.h"
#include "tools/local/metrics_tail.h"
#include "tools/local/number_text.h"

namespace weir::fuzz {
namespace {

constexpr const char* kFile = "file";

void ReadInput(ByteSpan input) {
  static const MemoryFolder folder;
  folder.Write(kFile, input);
  const std::string path = folder.path() + "/" + kFile;
  for (const tools::MetricsRecord& record : tools::MetricsTail(path).ReadNew()) {
    CHECK_GE(record.samples, 0);
    CHECK_GE(record.total_bytes, 0);
    tools::CountWithCommas(record.samples_per_second);
  }
  for (const std::string& line : tools::LogExcerpt(path)) CHECK(!line.empty());
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {R"({"kind": "train", "seconds": 1.5, "samples": 12000, "total_samples": 1e5, "steps": 94,
"samples_per_second": 8000.5, "bytes": {"total": 123456}, "logloss": 0.51, "auc": null})"
          "\n{\"kind\": \"test\", \"auc\": 0.7, \"logloss\": 1}\n{\"kind\"",
          "I1130 00:00:00.000000 1 a.cc:1] begins\nerror: --config: x\n  more\nW1130 y\n",
          "F1130 00:00:00.000000 1 a.cc:1] Check failed: a\n    @ 0x1\n    @ 0x2\n\nlast\n"};
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::fuzz::ReadInput({data, size});
  return 0;
}
