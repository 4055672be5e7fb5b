// On which processors a measurement runs. Of two processors of one machine one is often slower for
// minutes, because of what its neighbours do with its caches and its other hardware thread; what is
// compared has to run on the same ones.
//
// Thread rule: main thread.
#pragma once

#include <vector>

namespace weir::bench {

// Two that the calling thread may use, of two cores where it has as many; one where it has no
// other.
std::vector<int> TwoProcessors();

// The one of those two on which memory is copied faster now: neighbours only ever slow one down, so
// it tells most of what runs there.
int QuieterProcessor();

// Keeps all threads of this process, and what they start, on these processors while it lives. The
// system may refuse, and then leaves threads where they are.
class OnProcessors {
 public:
  explicit OnProcessors(const std::vector<int>& processors);
  ~OnProcessors();
  OnProcessors(const OnProcessors&) = delete;
  OnProcessors& operator=(const OnProcessors&) = delete;

 private:
  const std::vector<int> before_;  // those of the calling thread
};

}  // namespace weir::bench
