// weir-bench: how fast Weir is, with a peer or a limit of the machine beside each number.
//
//   weir-bench all|SECTION... [--json=FILE] [--peers=DIR] [--repeats=N] [--quick]
//
// Exit codes: 0 done, 1 failed while running or a result was wrong, 2 wrong flags, 130 interrupted.

#include <gflags/gflags.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/heap.h"
#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "common/program/program.h"
#include "tools/bench/machine.h"
#include "tools/bench/openblas_settings.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/processors.h"
#include "tools/bench/program.h"
#include "tools/bench/report.h"
#include "tools/bench/section.h"
#include "tools/bench/temporary_folder.h"

DEFINE_string(json, "", "also write the lines to this file, as JSON");
DEFINE_int32(repeats, 5,
             "how often each measurement is made, the median counts; no more than three "
             "times what trains in other processes or beside PyTorch, once what takes minutes");
DEFINE_string(
    peers, "",
    "run the peers in Python (of step, train, select, policies and split) with the interpreter of "
    "this folder, which tools/install_peers makes; else with Debian's, whose PyTorch is "
    "python3-torch");
DEFINE_bool(quick, false, "smallest sizes, once: verifies the results, the times mean nothing");

namespace weir::bench {
namespace {

std::string Usage() {
  std::string text =
      "measures Weir beside a peer or a limit of the machine\n"
      "  weir-bench all|SECTION... [--json=FILE] [--peers=DIR] [--repeats=N] [--quick]\n"
      "sections:";
  for (const Section& section : Sections())
    text += StrCat("\n  ", section.name, ": ", section.help);
  return text;
}

Result<std::vector<const Section*>> Choose(const std::vector<std::string>& names) {
  std::vector<std::string> mistakes;
  std::vector<const Section*> chosen;
  if (names.empty()) mistakes.push_back("say which section to measure, or all (see --help)");
  for (const std::string& name : names) {
    if (name == "all") {
      for (const Section& section : Sections()) chosen.push_back(&section);
    } else if (const Section* section = FindSection(name)) {
      chosen.push_back(section);
    } else {
      mistakes.push_back(StrCat("\"", name, "\" is no section (see --help)"));
    }
  }
  if (FLAGS_repeats < 1) mistakes.push_back(StrCat("--repeats=", FLAGS_repeats, " is less than 1"));
  if (const Status peers = CheckPeers(FLAGS_peers); !FLAGS_peers.empty() && !peers.ok()) {
    mistakes.push_back(peers.message());
  }
  if (!mistakes.empty()) return InvalidConfig(StrJoin(mistakes, "\n"));
  return chosen;
}

// The file itself, where a link leads to it.
std::string ResolvedJson() {
  std::error_code error;
  const std::string path = std::filesystem::weakly_canonical(FLAGS_json, error).string();
  return error ? FLAGS_json : path;
}

bool JsonIsFile() {
  std::error_code error;
  const std::filesystem::path path = FLAGS_json;
  return !std::filesystem::exists(path, error) || std::filesystem::is_regular_file(path, error);
}

// Where the lines are written: beside a file, to take its place whole; into what is no file.
struct JsonTarget {
  bool is_file = JsonIsFile();
  std::string whole = ResolvedJson();
  std::string written = is_file ? whole + ".partial" : FLAGS_json;

  Status Failure() const {
    return Unavailable(StrCat("--json: cannot write ", FLAGS_json, ": ", std::strerror(errno)));
  }
};

// Before anything is measured, and without losing what an earlier call left there.
Status CheckJson() {
  if (FLAGS_json.empty()) return OkStatus();
  const JsonTarget target;
  if (!std::ofstream(target.written, std::ios::app)) return target.Failure();
  if (target.is_file) std::filesystem::remove(target.written);
  return OkStatus();
}

Status WriteJson(const Lines& lines, const Machine& machine) {
  if (FLAGS_json.empty()) return OkStatus();
  const JsonTarget target;
  std::ofstream file(target.written);
  file << ToJson(lines, machine) << std::flush;
  if (!file) return target.Failure();
  if (!target.is_file || std::rename(target.written.c_str(), target.whole.c_str()) == 0) {
    return OkStatus();
  }
  return target.Failure();
}

// Its lines, or what went wrong, with its name.
Result<Lines> RunSection(const Section& section, const Options& options) {
  try {
    std::optional<OnProcessors> on;
    if (section.one_processor) on.emplace(std::vector<int>{QuieterProcessor()});
    Result<Lines> lines = section.run(options);
    if (lines.ok()) return lines;
    return Status(lines.status().code(), StrCat(section.name, ": ", lines.status().message()));
  } catch (const std::exception& exception) {  // memory, or a peer's result that is none
    return ResourceExhausted(StrCat(section.name, ": ", exception.what()));
  }
}

Status Measure(const std::vector<std::string>& names) {
  WEIR_ASSIGN_OR_RETURN(const std::vector<const Section*> sections, Choose(names));
  const Options options{
      .repeats = FLAGS_quick ? 1 : FLAGS_repeats, .quick = FLAGS_quick, .peers = FLAGS_peers};
  const Machine machine = DescribeMachine();
  PrintMachine(machine, std::cout);
  WEIR_RETURN_IF_ERROR(CheckJson());
  Lines all;
  Status failures;  // of sections; the others are worth having
  for (const Section* section : sections) {
    std::cout << "\n" << section->name << ": " << section->help << std::endl;
    const double start = MonotonicSeconds();
    const Result<Lines> lines = RunSection(*section, options);
    if (lines.ok()) {
      PrintTable(*lines, std::cout);
      all.insert(all.end(), lines->begin(), lines->end());
      if (!lines->empty()) WEIR_RETURN_IF_ERROR(WriteJson(all, machine));
    } else {
      std::cout << "failed: " << lines.status().message() << "\n";
      failures = Joined(failures, lines.status());
    }
    std::cout << Format("took %.0f s\n", MonotonicSeconds() - start);
  }
  if (std::cout.flush()) return failures;
  return Unavailable("cannot write to standard output");
}

[[noreturn]] void CleanUpAndEnd() {
  KillProgramsForGood();
  RemoveTemporaryFoldersForGood();
  EndInterrupted();
}

Status Run(const Arguments& names) {
  AdoptPrograms();
  const SignalWatcher watcher(CleanUpAndEnd);
  return Measure(names);
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::LetOpenBlasDoItsBest(argv);
  weir::KeepFreedMemory();  // as server and worker do; peers in this process have the same heap
  FLAGS_minloglevel = google::GLOG_WARNING;
  return weir::RunProgram({.usage = weir::bench::Usage(),
                           .flags_in = "bench/main",
                           .short_of_memory = "this section",
                           .run = weir::bench::Run},
                          argc, argv);
}
