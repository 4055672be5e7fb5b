// How weir-local tells of a process that failed: how it ended, and what of its log says why.
//
// Thread rule: any thread.
#pragma once

#include <string>

#include "tools/local/child_process.h"

namespace weir::tools {

// May have several lines. restarts: how often it was started again.
std::string FailureText(const ChildCommand& command, const ChildExit& exit, int restarts);

// "trainer-0 was killed by signal 9 (Killed); starting it again (restart 1 of at most 3)".
std::string RestartText(const ChildCommand& command, const ChildExit& exit, int restarts,
                        int most_restarts);

}  // namespace weir::tools
