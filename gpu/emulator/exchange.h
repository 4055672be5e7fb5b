// What the emulator's parts and its device language say to each other. A kernel's thread is a
// fiber; all of this is called by the one thread that runs a launch, under the runtime's lock.
// Options are set between launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

namespace weir::gpu::emulator {

struct Place {  // what a kernel may read of its own thread
  uint3 thread, block;
  dim3 block_size, grid_size;
};
extern constinit thread_local Place* place;

enum class Op : int { kSync, kBallot, kShuffleUp, kShuffleDown, kShuffleXor, kAdd, kMax };

// Deposits a value's bits, waits for the lanes of the mask, and gives what `op` makes of them.
uint64_t WarpExchange(unsigned mask, Op op, int parameter, int width, uint64_t bits, int line);
int BlockBarrier(int predicate, int line);  // how many threads' predicates were not 0
void MayYield();                            // the generator chooses whether
void Yield();
void* SharedArray(const void* key, size_t size, size_t align);
void* DynamicShared();
void Enqueue(void* stream, std::function<void()> work);
void Run(dim3 grid, dim3 block, size_t shared, const std::function<void()>& body);

struct Options {
  uint64_t seed = 1;
  int resident_blocks = 4;     // that run interleaved
  bool shuffle_blocks = true;  // begin blocks in any order
  bool exited_may_skip_barriers = false;
  uint64_t steps_of_a_thread = 2000;  // switches, on average, after which a launch is given up
};
Options& options();

// What becomes of cuBLASLt: it takes no shape, or none with an epilogue, which it may say only when
// the product is enqueued, or no product of it can be enqueued.
enum class Library { kGood, kAbsent, kTakesNothing, kEndsNothing, kEndsNothingLate, kFails };

// What goes wrong, for tests of who has to handle it.
struct Faults {
  size_t memory_bytes = size_t{1} << 34;  // of the card; who asks for more gets none
  uint64_t good_launches = UINT64_MAX;    // after so many more, launches fail
  int cards = 2;                          // 0: there is none
  int capability = 90;                    // 10 major + minor
  size_t shared_bytes = 227 << 10;        // that a kernel may be given
  int driver_version = 13000;             // 1000 major + 10 minor; 0: no driver
  Library cublas_lt = Library::kGood;
};
Faults& faults();

// As a new process has it: no error, no faults.
void ResetDevice();

const std::string& LastReport();  // of the last launch that failed; empty after one that did not
uint64_t Switches();
// What streams were given: graphs, and what was in none.
struct Enqueued {
  uint64_t graphs = 0, alone = 0;
};
Enqueued EnqueuedSoFar();
// How often a kernel was given less shared memory than before: another thread's launch of it, which
// needs more, then fails on a card.
uint64_t LoweredSharedLimits();

template <typename T>
inline T Exchange(unsigned mask, Op op, int parameter, int width, T value, int line) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = WarpExchange(mask, op, parameter, width, bits, line);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace weir::gpu::emulator
