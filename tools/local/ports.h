// Loopback addresses for the servers of a local run.
//
// A port is probed by binding it and letting go, so another program can still take it before the
// server does; the server then fails to listen and says so.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace weir::tools {

// "tcp://127.0.0.1:<port>" for `count` servers, all different. `base_port` 0 lets the system choose
// free ports; else server i gets base_port + i, and every port in use is named in one
// ResourceExhausted. base_port + count must be at most 65536.
Result<std::vector<std::string>> LoopbackAddresses(int count, int base_port);

}  // namespace weir::tools
