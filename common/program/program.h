// What programs have in common around their work: flags and help, logs, how mistakes and failures
// are told, exit codes.
//
// Thread rule: main's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace weir {

// What is left of a command line without its flags and the program's name.
using Arguments = std::vector<std::string>;

// A line for each: of a program that understands flags alone.
std::vector<std::string> UnexpectedArguments(const Arguments& arguments);

struct Program {
  std::string usage;            // --help begins with it ...
  std::string flags_in;         // ... and lists the flags of source files whose path contains this
  std::string short_of_memory;  // told when there is none left: for what, and what to make smaller
  // Whether the work ends with whoever reads its output, as that of a filter does. A run goes on.
  bool ends_with_its_reader = true;
  // All that is wrong before work begins, a line for each mistake; told together with wrong flags.
  // May be missing.
  std::function<Status(const Arguments& arguments)> check = nullptr;
  // The work; not begun when anything is wrong.
  std::function<Status(const Arguments& arguments)> run;
};

// For the signals of a program that has nothing to leave half done.
[[noreturn]] void EndInterrupted();
// The same with any end, where threads may never come to theirs.
[[noreturn]] void EndAtOnce(const Status& status);

// The exit code (exit_code.h). Standard error has what went wrong, a line "error: ..." for each
// line of the status's message but those that are indented, which belong to the one above.
int RunProgram(const Program& program, int argc, char** argv);

}  // namespace weir
