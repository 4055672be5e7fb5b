// CHECK and DCHECK: our own mistakes end the process, with both values in the message.
//
// Never CHECK a byte that a peer, a file or a user gave us: that is a Status
// (common/base/status.h).
#pragma once

#include <glog/logging.h>
