// On which processors a measurement runs. Of two processors of one machine one is often slower for
// minutes, because of what its neighbours do with its caches and its other hardware thread; what is
// compared has to run on the same ones.
//
// Thread rule: main thread; nothing else in this process says where its threads run.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weir::bench {

// The first of these, and the next that is of another core, by the names of the cores' threads; the
// next at all where there is none. All of them if they are fewer than two.
std::vector<int> TwoOf(const std::vector<int>& processors,
                       const std::function<std::string(int processor)>& threads_of_core);

// Two that the calling thread may use, of two cores where it has as many; one where it has no
// other. What OnProcessors allows counts.
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
