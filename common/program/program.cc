#include "common/program/program.h"

#include <gflags/gflags.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>

#include "common/base/check.h"
#include "common/base/exit_code.h"
#include "common/base/out_of_memory.h"
#include "common/base/strings.h"
#include "common/program/build_commit.h"
#include "common/program/command_line.h"

// gflags defines this and no header declares it: what it calls after telling wrong flags, or help.
namespace GFLAGS_NAMESPACE {
extern void (*gflags_exitfunc)(int);
}

namespace weir {
namespace {

bool gflags_found_mistakes = false;

bool IsGiven(const char* help_flag) {
  return gflags::GetCommandLineFlagInfoOrDie(help_flag).current_value == "true";
}

// Whether that was all that was asked for.
bool TellHelp(const Program& program, const char* name) {
  if (IsGiven("help") || IsGiven("helpshort")) {
    gflags::ShowUsageWithFlagsRestrict(name, program.flags_in.c_str());
    return true;
  }
  GFLAGS_NAMESPACE::gflags_exitfunc = [](int) { std::exit(0); };
  gflags::HandleCommandLineHelpFlags();  // --helpfull, --version and others: does not return then
  return false;
}

Status CheckAndRun(const Program& program, Status mistakes, const Arguments& arguments) {
  try {
    if (program.check) mistakes = Joined(mistakes, program.check(arguments));
    return mistakes.ok() ? program.run(arguments) : mistakes;
  } catch (const std::bad_alloc& error) {
    return ShortOfMemory(error, "not enough memory for " + program.short_of_memory);
  } catch (const std::exception& exception) {  // of a library, where the machine lacks something
    return ResourceExhausted(exception.what());
  }
}

void Tell(const Status& status) {
  for (const std::string& line : StrSplit(status.message(), '\n')) {
    std::cerr << (line.starts_with(' ') ? "" : "error: ") << line << "\n";
  }
  std::cerr.flush();
}

// What is opened later would be taken for the standard streams if these were closed. Their numbers
// are taken for ones that fail, as closed ones do.
void KeepStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest number is its
  }
}

// As many files and connections as the machine grants.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void EndInterrupted() { EndAtOnce(Interrupted("interrupted")); }

void EndAtOnce(const Status& status) {
  Tell(status);
  _exit(ExitCode(status));
}

std::vector<std::string> UnexpectedArguments(const Arguments& arguments) {
  std::vector<std::string> mistakes;
  mistakes.reserve(arguments.size());
  for (const std::string& argument : arguments) {
    mistakes.push_back(StrCat("unexpected argument '", argument, "'"));
  }
  return mistakes;
}

int RunProgram(const Program& program, int argc, char** argv) {
  KeepStandardStreams();
  RaiseDescriptorLimit();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow: writing fails instead, and is told
  if (!program.ends_with_its_reader) std::signal(SIGPIPE, SIG_IGN);  // writing fails instead
  gflags::SetUsageMessage(program.usage);
  gflags::SetVersionString(BuildCommit());
  FLAGS_logtostderr = true;  // unless flags say otherwise
  // By default gflags exits with 1 at its first complaint; here all mistakes are told.
  gflags_found_mistakes = false;
  GFLAGS_NAMESPACE::gflags_exitfunc = [](int) { gflags_found_mistakes = true; };
  Status mistakes = CheckCommandLine(argc, argv);
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, /*remove_flags=*/true);
  if (gflags_found_mistakes) mistakes = Joined(mistakes, InvalidConfig("see --help"));
  if (TellHelp(program, argv[0])) return 0;
  if (!google::IsGoogleLoggingInitialized()) google::InitGoogleLogging(argv[0]);
  const Status status = CheckAndRun(program, mistakes, Arguments(argv + 1, argv + argc));
  Tell(status);
  return ExitCode(status);
}

}  // namespace weir
