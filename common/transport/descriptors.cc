#include "common/transport/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/strings.h"

namespace weir::transport {
namespace {

constexpr int64_t kToldAgainMs = 60'000;

}  // namespace

Status CheckDescriptors(int count, const std::string& what_for) {
  std::vector<int> taken;
  int error = 0;
  for (int i = 0; i < count; ++i) {
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      error = errno;
      break;
    }
    taken.push_back(file);
  }
  for (const int file : taken) close(file);
  if (error == 0) return OkStatus();
  if (error != EMFILE) {
    return ResourceExhausted(StrCat("no file descriptors ", what_for, ": ", std::strerror(error)));
  }
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return ResourceExhausted(StrCat("too few file descriptors ", what_for, ": this process may have ",
                                  limit.rlim_cur, " open and needs ",
                                  limit.rlim_cur + static_cast<rlim_t>(count) - taken.size(),
                                  " at least; raise `ulimit -n`"));
}

FullDescriptors::FullDescriptors() : told_ms_(Clock::Real().NowMs() - kToldAgainMs) {}

void FullDescriptors::Look() {
  const int64_t now_ms = Clock::Real().NowMs();
  if (now_ms - told_ms_ < kToldAgainMs) return;
  const Status status = CheckDescriptors(1, "for another peer to connect");
  if (status.ok()) return;
  told_ms_ = now_ms;
  LOG(ERROR) << status.message();
}

}  // namespace weir::transport
