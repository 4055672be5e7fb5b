// The constants of push_times.h from measurements: a straight line through pairs of size and time.
//
// OMGS-SGD (Shi et al., INFOCOM 2020) fits the time of a message so, and that of a selection as a
// multiple of d * log2 d, which is what a sort on a card takes; ours on a CPU takes time for every
// element once, so a line is for both.
//
// Place in the life of a batch: none; a run plans its pushes once, by times of its first steps.
// Thread rule: pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weir::schedule {

struct Measurement {
  int64_t size = 0;    // bytes of a message, elements of a selection; not negative
  double seconds = 0;  // finite and not negative
};

struct Line {
  double base_seconds = 0;
  double each_seconds = 0;  // of each byte or element

  double Seconds(int64_t size) const {
    return base_seconds + each_seconds * static_cast<double>(size);
  }
};

// Of all lines without a negative constant the one with the least squares of errors. Measurements
// of one size alone do not tell what a size costs: their mean is the base, and each costs nothing.
// Of none both are 0.
Line FitLine(std::span<const Measurement> measurements);

// The same through the median of each size, so that who had to wait for a core once does not count.
Line FitMedians(std::span<const Measurement> measurements);

// Of at least one.
double Median(std::vector<double> values);

}  // namespace weir::schedule
