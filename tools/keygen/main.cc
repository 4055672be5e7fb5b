// weir-keygen: a key for each process of a run, with which it proves who it is.
//
//   weir-keygen DIR --servers=2 --trainers=4 [--stages=1] [--replace=NAME,...] [--remove=NAME,...]
//
// Exit codes: 0 done, 1 the folder cannot be written, 2 wrong flags, 130 interrupted.

#include <gflags/gflags.h>

#include <iostream>
#include <string>

#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "common/program/program.h"
#include "tools/keygen/make_keys.h"

DEFINE_int32(servers, 0, "how many servers need a key each");
DEFINE_int32(trainers, 0, "how many trainers do");
DEFINE_int32(stages, 1, "of how many stages each trainer is, each of which needs one");
DEFINE_string(replace, "", "who gets another key, as 'server 1,trainer 3 stage 1'");
DEFINE_string(remove, "", "who is to have none any more");

namespace weir::tools {
namespace {

constexpr const char* kUsage =
    "a key for each process of a run, with which it proves who it is\n"
    "  weir-keygen DIR --servers=2 --trainers=4 [--stages=1] [--replace=NAME,...] "
    "[--remove=NAME,...]\n"
    "      who has a key keeps it; DIR/public.keys is for all, the other files each for one "
    "process";

Status Check(const Arguments& arguments) {
  std::vector<std::string> problems;
  if (arguments.size() != 1) problems.emplace_back("name one folder");
  if (FLAGS_servers < 0) problems.emplace_back("--servers is 0 or more");
  if (FLAGS_trainers < 0) problems.emplace_back("--trainers is 0 or more");
  if (FLAGS_stages < 1) problems.emplace_back("--stages is 1 or more");
  const bool does_nothing =
      FLAGS_servers == 0 && FLAGS_trainers == 0 && FLAGS_replace.empty() && FLAGS_remove.empty();
  if (does_nothing) problems.emplace_back("say for how many --servers and --trainers");
  return problems.empty() ? OkStatus() : InvalidConfig(StrJoin(problems, "\n"));
}

Status Run(const Arguments& arguments) {
  const SignalWatcher signals(EndInterrupted);
  return MakeKeys(arguments[0],
                  {.servers = static_cast<uint32_t>(FLAGS_servers),
                   .trainers = static_cast<uint32_t>(FLAGS_trainers),
                   .stages = static_cast<uint32_t>(FLAGS_stages),
                   .replace = StrSplit(FLAGS_replace, ','),
                   .remove = StrSplit(FLAGS_remove, ',')},
                  std::cout);
}

}  // namespace
}  // namespace weir::tools

int main(int argc, char** argv) {
  return weir::RunProgram({.usage = weir::tools::kUsage,
                           .flags_in = "keygen/main",
                           .short_of_memory = "the list of keys",
                           .check = weir::tools::Check,
                           .run = weir::tools::Run},
                          argc, argv);
}
