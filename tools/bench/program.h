// Programs that a section runs: weir-local, peers that are not C++. They end with weir-bench,
// however that ends; what they start themselves ends with them, or by KillProgramsForGood.
//
// Thread rule: a thread that lives as long as the program runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace weir::bench {

// arguments: a program, as PATH finds it, and what it is called with; no shell reads them.
struct Program {
  std::vector<std::string> arguments;
  double give_up_seconds = 100;  // then it is killed
};

// Waits for its end. Returns the last line that it printed, on standard output or error; a failure
// quotes it. Once is_enough() the program is asked to end, and how it does is its own affair.
Result<std::string> RunProgram(const Program& program,
                               const std::function<bool()>& is_enough = nullptr);

// What programs started and left is this process's, so that KillProgramsForGood can wait for it.
// Before any runs.
void AdoptPrograms();
// Those that run and all that they started, waited for. From another thread, before this process
// ends: no program starts any more, and who runs one waits for ever.
void KillProgramsForGood();

// The folder that weir-bench is in, and the other programs of its build.
std::string BinaryFolder();
// Where tools/ and configs/ are: what weir-bench was packed with (tools/check_gpu), or what it was
// built from.
std::string SourceFolder();

}  // namespace weir::bench
