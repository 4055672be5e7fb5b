// What a process has of the world beside its network: time, names that nobody else has drawn, a
// disk, and threads for what takes long. Whoever needs them is given them, so that a test can run
// many processes' parts on one thread, with a time, a chance and disks of its own.
//
// Thread rule: any thread, if the nonces allow it.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/file_system.h"
#include "common/base/random.h"

namespace weir {

struct Environment {
  const Clock& clock = Clock::Real();
  // Another number in each call, here and in all other processes; never 0.
  std::function<uint64_t()> nonce = RandomNonce;
  FileSystem& files = FileSystem::Real();
  Executor& executor = Executor::Threads();
};

}  // namespace weir
