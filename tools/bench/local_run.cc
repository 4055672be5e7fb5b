#include "tools/bench/local_run.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/strings.h"

namespace weir::bench {
namespace {

// Far above what any run of a section takes.
constexpr int kGiveUpSeconds = 100;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "weir-bench-XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;  // owns a folder
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }  // empty: there is none

 private:
  std::string path_;
};

// text: without single quotes.
std::string Quoted(const std::string& text) { return StrCat("'", text, "'"); }

// Fails with the command's last words.
Status Execute(const std::string& command) {
  FILE* pipe = popen(StrCat(command, " 2>&1").c_str(), "r");
  if (pipe == nullptr) return Internal(StrCat("cannot run ", command));
  std::string last;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe)) {
    if (buffer[0] != '\n') last = buffer.data();
  }
  if (pclose(pipe) == 0) return OkStatus();
  if (last.ends_with('\n')) last.pop_back();
  return Unavailable(StrCat("failed, saying \"", last, "\": ", command));
}

// Runs a command of the shell behind a link.
std::string Behind(const Link& link, const std::string& command) {
  if (link.name == nullptr) return command;
  return StrCat("unshare --net sh -c \"ip link set lo up && tc qdisc replace dev lo root tbf rate ",
                link.name, " burst ", link.burst, " latency 50ms && exec ", command, "\"");
}

std::string Command(const LocalRun& run, const std::string& out) {
  std::vector<std::string> files;
  for (const std::string& file : StrSplit(run.config_files, ',')) {
    files.push_back(StrCat(WEIR_SOURCE_DIR, "/configs/", file));
  }
  const std::string override_text =
      StrCat("data { batch_size: ", run.batch_size, " synthetic { rows: ", run.rows,
             " test_rows: ", run.test_rows, " } } compression { default { ", run.policy,
             " } } run { evaluate_every_samples: ", run.evaluate_every_samples, " }");
  return StrCat("timeout ", kGiveUpSeconds, " ", Quoted(StrCat(WEIR_BINARY_DIR, "/weir-local")),
                " --config=", Quoted(StrJoin(files, ",")), " --override=", Quoted(override_text),
                " --servers=", run.servers, " --trainers=1 --threads=1 --out=", Quoted(out));
}

Result<LocalResult> ReadResult(const LocalRun& run, const std::string& out) {
  LocalResult result;
  std::ifstream summary_file(out + "/summary.json");
  const auto summary = nlohmann::json::parse(summary_file, nullptr, /*allow_exceptions=*/false);
  if (!summary.contains("train")) return Internal("weir-local left no summary.json");
  if (summary["train"]["samples"] != run.rows) {
    return Internal(StrCat("weir-local trained ", summary["train"]["samples"].dump(), " of ",
                           run.rows, " rows"));
  }
  result.samples_per_second = summary["train"]["samples_per_second"];
  std::ifstream metrics(out + "/metrics.jsonl");
  for (std::string text; std::getline(metrics, text);) {
    const auto line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (line.is_object() && line["kind"] == "test") {
      result.tests.push_back({.samples = line["samples"], .logloss = line["logloss"]});
    }
  }
  // Guessing gives 0.57 or so on these rows; a run that diverged says nothing about speed.
  if (result.tests.empty() || !(result.tests.back().logloss < 0.7)) {
    return Internal(StrCat("the run did not learn: ", run.policy));
  }
  return result;
}

}  // namespace

Status CheckLinks() { return Execute(Behind({"1gbit"}, "true")); }

Result<LocalResult> RunLocal(const LocalRun& run) {
  const TemporaryFolder folder;
  if (folder.path().empty()) return Unavailable("cannot make a temporary folder");
  WEIR_RETURN_IF_ERROR(Execute(Behind(run.link, Command(run, folder.path()))));
  return ReadResult(run, folder.path());
}

}  // namespace weir::bench
