// weir-data: makes input files and looks into them.
//
//   weir-data generate --config=a.textproto --out=FILE[.gz] [--split=train|test] [--rows=N]
//   weir-data inspect FILE [TEST_FILE] [--label=COLUMN] [--out=CONFIG] [--rows=N]
//   weir-data split FILE --test_share=0.1 [--by=COLUMN | --last]
//
// Exit codes: 0 done, 1 failed while running, 2 wrong flags or config, 130 interrupted.

#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <string>
#include <vector>

#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "common/config/load_config.h"
#include "common/program/program.h"
#include "tools/data/generate.h"
#include "tools/data/inspect.h"
#include "tools/data/split.h"

DEFINE_string(config, "", "generate: config files, overlaid in order: a.textproto,b.textproto");
DEFINE_string(override, "", "generate: protobuf text laid over the config files, last");
DEFINE_string(out, "",
              "generate: the file to write, compressed when its name ends in .gz; inspect: the "
              "config to write");
DEFINE_string(split, "train", "generate: train or test rows");
DEFINE_int64(rows, 0,
             "only the first so many rows; 0: all, but where inspect looks for columns 100000");
DEFINE_string(label, "", "inspect: the column to predict, by name, or by number without a header");
DEFINE_double(test_share, 0.1, "split: of the rows, those to test with; between 0 and 1");
DEFINE_string(by, "", "split: a column whose values are kept together, a user for instance");
DEFINE_bool(last, false, "split: test with the last rows of the file");

namespace weir::tools {
namespace {

constexpr const char* kUsage =
    "makes input files and looks into them\n"
    "  weir-data generate --config=a.textproto --out=FILE[.gz] [--split=train|test] [--rows=N]\n"
    "      writes the synthetic set of the config as a Criteo click log\n"
    "  weir-data inspect FILE [TEST_FILE] [--label=COLUMN] [--out=CONFIG] [--rows=N]\n"
    "      tells what a file holds, and proposes a config that trains on it\n"
    "  weir-data split FILE [--test_share=0.1] [--by=COLUMN | --last]\n"
    "      writes the rows of a file to two beside it, to train on and to test with";

void RequireRows(std::vector<std::string>& mistakes) {
  if (FLAGS_rows < 0) mistakes.push_back(StrCat("--rows=", FLAGS_rows, " is negative"));
}

// A flag of another command would be passed over in silence.
void RefuseOtherFlags(const std::string& command, const std::vector<std::string>& own,
                      std::vector<std::string>& mistakes) {
  for (const char* flag :
       {"config", "override", "out", "split", "rows", "label", "test_share", "by", "last"}) {
    if (gflags::GetCommandLineFlagInfoOrDie(flag).is_default) continue;
    if (std::ranges::find(own, flag) != own.end()) continue;
    mistakes.push_back(StrCat("--", flag, " is not for ", command, ", which has --",
                              StrJoin(own, ", --"), "; leave it out"));
  }
}

Status Refuse(const std::vector<std::string>& mistakes) {
  return InvalidConfig(StrJoin(mistakes, "\n"));
}

Status RunGenerate(const Arguments& arguments) {
  std::vector<std::string> mistakes;
  RefuseOtherFlags("generate", {"config", "override", "out", "split", "rows"}, mistakes);
  RequireRows(mistakes);
  if (!arguments.empty()) {
    mistakes.push_back(StrCat("\"", arguments[0], "\": generate takes flags only"));
  }
  if (FLAGS_config.empty() && FLAGS_override.empty()) {
    mistakes.push_back("--config is missing; give a file that has data { synthetic {} }");
  }
  if (FLAGS_out.empty()) mistakes.push_back("--out is missing; give the file to write");
  if (FLAGS_split != "train" && FLAGS_split != "test") {
    mistakes.push_back(StrCat("--split=", FLAGS_split, " is neither train nor test"));
  }
  if (!mistakes.empty()) return Refuse(mistakes);
  WEIR_ASSIGN_OR_RETURN(const v1::Config config,
                        config::LoadConfig(StrSplit(FLAGS_config, ','), FLAGS_override));
  const auto split = FLAGS_split == "train" ? data::Split::kTrain : data::Split::kTest;
  std::atomic<bool> interrupted = false;
  SignalWatcher signals([&] { interrupted = true; });
  return Generate(config, {FLAGS_out, split, FLAGS_rows, &interrupted}, std::cout);
}

Status RunInspect(const Arguments& arguments) {
  std::vector<std::string> mistakes;
  RefuseOtherFlags("inspect", {"label", "out", "rows"}, mistakes);
  RequireRows(mistakes);
  if (arguments.empty() || arguments.size() > 2) {
    mistakes.push_back("inspect takes a file, and perhaps one to test with");
  }
  if (!mistakes.empty()) return Refuse(mistakes);
  const SignalWatcher signals(EndInterrupted);
  const std::string test_path = arguments.size() == 2 ? arguments[1] : "";
  return Inspect({arguments[0], test_path, FLAGS_label, FLAGS_out, FLAGS_rows}, std::cout);
}

Status RunSplit(const Arguments& arguments) {
  std::vector<std::string> mistakes;
  RefuseOtherFlags("split", {"test_share", "by", "last"}, mistakes);
  if (arguments.size() != 1) mistakes.push_back("split takes one file");
  if (!(FLAGS_test_share > 0 && FLAGS_test_share < 1)) {
    mistakes.push_back(StrCat("--test_share=", FLAGS_test_share, " is not between 0 and 1"));
  }
  if (FLAGS_by.empty() && !gflags::GetCommandLineFlagInfoOrDie("by").is_default) {
    mistakes.push_back("--by= names no column; give one, or leave it out");
  }
  if (FLAGS_last && !FLAGS_by.empty()) {
    mistakes.push_back("--by and --last are two ways to choose rows; give one of them");
  }
  if (!mistakes.empty()) return Refuse(mistakes);
  std::atomic<bool> interrupted = false;
  SignalWatcher signals([&] { interrupted = true; });
  return Split({arguments[0], FLAGS_test_share, FLAGS_by, FLAGS_last, &interrupted}, std::cout);
}

Status RunCommand(const Arguments& arguments) {
  if (arguments.empty()) {
    return InvalidConfig("say what to do: generate, inspect or split (see --help)");
  }
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (arguments[0] == "generate") return RunGenerate(rest);
  if (arguments[0] == "inspect") return RunInspect(rest);
  if (arguments[0] == "split") return RunSplit(rest);
  return InvalidConfig(StrCat("\"", arguments[0], "\" is none of generate, inspect and split"));
}

Status Run(const Arguments& arguments) {
  WEIR_RETURN_IF_ERROR(RunCommand(arguments));
  return std::cout.flush() ? OkStatus() : Unavailable("cannot write to standard output");
}

}  // namespace
}  // namespace weir::tools

int main(int argc, char** argv) {
  return weir::RunProgram({.usage = weir::tools::kUsage,
                           .flags_in = "data/main",
                           .short_of_memory = "the file; for inspect, use a smaller --rows",
                           .run = weir::tools::Run},
                          argc, argv);
}
