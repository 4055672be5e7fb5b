// Random numbers as a function of a key: the value does not depend on who asks, when, or in which
// order, so a run is reproducible whatever its threads and servers do.
//
// KeyedHash is a chain of the SplitMix64 finaliser (Steele, Lea, Flood 2014) over the key's words.
// Names that no other process may draw (RandomNonce) are the exception: nothing computes with them.
// Thread rule: any thread; RandomStream is thread-compatible. C++17-clean, so that a CUDA compiler
// can include it: cards draw the same numbers.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/base/on_device.h"

namespace weir {

WEIR_ON_DEVICE inline uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <typename... Words>
WEIR_ON_DEVICE uint64_t KeyedHash(uint64_t seed, Words... words) {
  uint64_t hash = Mix64(seed);
  ((hash = Mix64(hash ^ static_cast<uint64_t>(words))), ...);
  return hash;
}

// Uniform in [0, 1), 53 bits.
WEIR_ON_DEVICE inline double UnitFromHash(uint64_t hash) {
  return static_cast<double>(hash >> 11) * 0x1.0p-53;
}

// Standard normal from one hash (Box-Muller on the hash and its successor).
inline double NormalFromHash(uint64_t hash) {
  constexpr double kPi = 3.14159265358979323846;
  const double u = 1.0 - UnitFromHash(hash);  // (0, 1]
  const double v = UnitFromHash(Mix64(hash));
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * kPi * v);
}

// From the system, never 0: tells this process, or this life of it, from every other.
uint64_t RandomNonce();

// A sequence keyed by whatever names its use, for example (seed, layer, step).
class RandomStream {
 public:
  template <typename... Words>
  WEIR_ON_DEVICE explicit RandomStream(uint64_t seed, Words... words)
      : key_(KeyedHash(seed, words...)) {}

  WEIR_ON_DEVICE uint64_t Next() { return Mix64(key_ ^ Mix64(counter_++)); }
  WEIR_ON_DEVICE double NextUnit() { return UnitFromHash(Next()); }
  double NextNormal() { return NormalFromHash(Next()); }

  // Uniform in [0, bound); bound > 0. Multiply-shift: bias below 2^-32 for bounds below 2^32.
  WEIR_ON_DEVICE uint64_t NextBelow(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace weir
