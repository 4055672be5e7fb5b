// Which processes of a local run are killed on purpose, and when (weir-local --kill_after): for
// trying what a run does without one of them, or with another life of it.
//
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/local/options.h"

namespace weir::tools {

struct KillOrder {
  std::string name;      // of a process: "server-1"
  int64_t after_ms = 0;  // of the run's start
};

// What is wrong with options.kill_after.
std::vector<std::string> KillMistakes(const LocalOptions& options);

class KillPlan {
 public:
  // of: "server-1:3000,trainer-0:5000", without mistakes.
  explicit KillPlan(const std::string& of = "");

  void Begin(int64_t now_ms) { begin_ms_ = now_ms; }
  // When the next one is due; nothing behind the last, or before Begin.
  std::optional<int64_t> next_ms() const;
  // The next one, if it is due; each once.
  std::optional<KillOrder> TakeDue(int64_t now_ms);

 private:
  std::vector<KillOrder> orders_;  // the last one first
  std::optional<int64_t> begin_ms_;
};

}  // namespace weir::tools
