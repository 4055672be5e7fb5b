// What a process tells its caller; docs/reference/exit_codes.md lists all codes.
//
// Thread rule: pure function.
#pragma once

#include "common/base/status.h"

namespace weir {

inline constexpr int kExitFailed = 1;
inline constexpr int kExitRefused = 2;
inline constexpr int kExitTooLate = 3;
inline constexpr int kExitInterrupted = 130;

// 0 done, 1 failed while running, 2 wrong flags or config, 3 came when the run was over and had
// ended well, 130 interrupted.
inline int ExitCode(const Status& status) {
  if (status.ok()) return 0;
  if (status.code() == StatusCode::kInvalidConfig) return kExitRefused;
  if (status.code() == StatusCode::kTooLate) return kExitTooLate;
  if (status.code() == StatusCode::kInterrupted) return kExitInterrupted;
  return kExitFailed;
}

}  // namespace weir
