#include "tools/bench/measure.h"

#include <algorithm>
#include <chrono>

#include "common/base/check.h"

namespace weir::bench {

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<double> MedianSeconds(int repeats, const std::vector<std::function<void()>>& works) {
  std::vector<std::function<double()>> timed;
  for (const auto& work : works) timed.emplace_back([&work] { return Seconds(work); });
  return MedianOwnSeconds(repeats, timed);
}

std::vector<double> MedianOwnSeconds(int repeats,
                                     const std::vector<std::function<double()>>& works) {
  CHECK_GT(repeats, 0);
  for (const auto& work : works) work();
  std::vector<std::vector<double>> seconds(works.size());
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (size_t i = 0; i < works.size(); ++i) seconds[i].push_back(works[i]());
  }
  std::vector<double> medians;
  for (const auto& values : seconds) medians.push_back(Median(values));
  return medians;
}

}  // namespace weir::bench
