#include "tools/bench/processors.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <tuple>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "tools/bench/measure.h"

namespace weir::bench {
namespace {

// As many as kernels know.
using Set = std::array<cpu_set_t, 8>;
constexpr int kSetSize = std::tuple_size_v<Set> * CPU_SETSIZE;

std::vector<int> AllowedProcessors() {
  Set set = {};
  PCHECK(sched_getaffinity(0, sizeof(set), set.data()) == 0);
  std::vector<int> processors;
  for (int i = 0; i < kSetSize; ++i) {
    if (CPU_ISSET_S(i, sizeof(set), set.data())) processors.push_back(i);
  }
  return processors;
}

// The hardware threads of a processor's core, as the kernel lists them; "" where it does not.
std::string ThreadsOfCore(int processor) {
  std::ifstream file(
      StrCat("/sys/devices/system/cpu/cpu", processor, "/topology/thread_siblings_list"));
  std::string threads;
  std::getline(file, threads);
  return threads;
}

void Move(const std::vector<int>& processors) {
  Set set = {};
  for (const int processor : processors) CPU_SET_S(processor, sizeof(set), set.data());
  std::error_code error;
  std::filesystem::directory_iterator thread("/proc/self/task", error), end;
  for (; !error && thread != end; thread.increment(error)) {
    const std::string name = thread->path().filename().string();
    pid_t id = 0;
    std::from_chars(name.data(), name.data() + name.size(), id);
    sched_setaffinity(id, sizeof(set), set.data());
  }
}

}  // namespace

std::vector<int> TwoOf(const std::vector<int>& processors,
                       const std::function<std::string(int processor)>& threads_of_core) {
  if (processors.size() < 2) return processors;
  const std::string first = threads_of_core(processors[0]);
  const auto second = std::find_if(processors.begin() + 1, processors.end(), [&](int processor) {
    return first.empty() || threads_of_core(processor) != first;
  });
  return {processors[0], second == processors.end() ? processors[1] : *second};
}

std::vector<int> TwoProcessors() { return TwoOf(AllowedProcessors(), ThreadsOfCore); }

int QuieterProcessor() {
  constexpr size_t kBytes = size_t{32} << 20;  // past the caches
  constexpr int kTurns = 5;
  const std::vector<int> processors = TwoProcessors();
  std::vector<std::byte> from(kBytes), to(kBytes);
  std::vector<std::function<double()>> copies;
  for (const int processor : processors) {
    copies.emplace_back([&from, &to, processor] {
      const OnProcessors on({processor});
      return Seconds([&] {
        std::memcpy(to.data(), from.data(), kBytes);
        KeepAlive(to.data());
      });
    });
  }
  const std::vector<double> seconds = MedianOwnSeconds(kTurns, copies);
  return processors[static_cast<size_t>(std::ranges::min_element(seconds) - seconds.begin())];
}

OnProcessors::OnProcessors(const std::vector<int>& processors) : before_(AllowedProcessors()) {
  Move(processors);
}

OnProcessors::~OnProcessors() { Move(before_); }

}  // namespace weir::bench
