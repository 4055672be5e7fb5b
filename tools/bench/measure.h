// How weir-bench takes time: medians, and ours and the peer's in turns, so that a machine that
// slows down slows both.
//
// Thread rule: any thread; what is measured runs on the calling one.
#pragma once

#include <functional>
#include <vector>

namespace weir::bench {

// Middle value, the mean of the two middle ones for an even count. values: not empty.
double Median(std::vector<double> values);

// Seconds that one call takes.
double Seconds(const std::function<void()>& work);

// Calls each piece of work once unmeasured, then in turns `repeats` times, and gives the median
// seconds of each.
std::vector<double> MedianSeconds(int repeats, const std::vector<std::function<void()>>& works);

// The same of work that takes its own time, and returns it.
std::vector<double> MedianOwnSeconds(int repeats,
                                     const std::vector<std::function<double()>>& works);

// Keeps the compiler from dropping a computation whose result nobody reads.
inline void KeepAlive(const void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); }

}  // namespace weir::bench
