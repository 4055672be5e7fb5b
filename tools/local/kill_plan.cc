#include "tools/local/kill_plan.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "tools/local/commands.h"

namespace weir::tools {
namespace {

constexpr int64_t kMostMs = 86400000;  // a day

// "server-1:3000".
std::optional<KillOrder> ParseOrder(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  KillOrder order = {.name = text.substr(0, colon)};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, order.after_ms);
  if (error != std::errc() || rest != end || order.after_ms < 0 || order.after_ms > kMostMs) {
    return std::nullopt;
  }
  return order;
}

bool HasProcess(const LocalOptions& options, const std::string& name) {
  for (int shard = 0; shard < options.server_count; ++shard) {
    if (ServerName(shard) == name) return true;
  }
  for (int trainer = 0; trainer < options.trainer_count; ++trainer) {
    for (int stage = 0; stage < options.stage_count; ++stage) {
      if (WorkerName(trainer, stage) == name) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> KillMistakes(const LocalOptions& options) {
  std::vector<std::string> mistakes;
  for (const std::string& text : StrSplit(options.kill_after, ',')) {
    const auto order = ParseOrder(text);
    if (!order) {
      mistakes.push_back(StrCat("--kill_after: \"", text, "\" is not NAME:MILLISECONDS, as ",
                                "server-1:3000, of a day at most"));
    } else if (!HasProcess(options, order->name)) {
      mistakes.push_back(StrCat("--kill_after: \"", text, "\": this run has no process ",
                                order->name, "; names are as those of the logs: server-0, ",
                                "trainer-0, trainer-0-stage-1"));
    }
  }
  return mistakes;
}

KillPlan::KillPlan(const std::string& of) {
  for (const std::string& text : StrSplit(of, ',')) {
    const auto order = ParseOrder(text);
    CHECK(order.has_value()) << text;
    orders_.push_back(*order);
  }
  std::ranges::stable_sort(orders_, std::greater(), &KillOrder::after_ms);
}

std::optional<int64_t> KillPlan::next_ms() const {
  if (orders_.empty() || !begin_ms_) return std::nullopt;
  return *begin_ms_ + orders_.back().after_ms;
}

std::optional<KillOrder> KillPlan::TakeDue(int64_t now_ms) {
  const auto due_ms = next_ms();
  if (!due_ms || now_ms < *due_ms) return std::nullopt;
  KillOrder order = std::move(orders_.back());
  orders_.pop_back();
  return order;
}

}  // namespace weir::tools
