// The machine that runs one launch: fibers, the blocks that are resident, and who may run. For the
// emulator's own sources alone; one launch at a time, on the thread that holds the runtime's lock.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <vector>

#include "gpu/emulator/runtime.h"

namespace weir::gpu::emulator {

namespace ctx = boost::context::detail;

constexpr size_t kStack = 96 << 10, kGuard = 4096, kArena = 240 << 10, kStaticShared = 48 << 10;
constexpr int kMaxThreads = 1024, kMaxResident = 16, kMaxArrays = 32,
              kWarps = kMaxResident * kMaxThreads / 32;
enum class State : uint8_t { kRunnable, kWarp, kBarrier, kDone };

struct Block;
struct Fiber {
  Place place{};
  ctx::fcontext_t context = nullptr;
  Block* block = nullptr;
  Fiber* warp = nullptr;  // of its lane 0
  int warp_id = 0, lane = 0, lanes = 0, parameter = 0, width = 0, line = 0;
  State state = State::kDone;
  Op op = Op::kSync;
  unsigned mask = 0;
  uint64_t in = 0, out = 0;
  char* stack = nullptr;
  size_t stack_size = 0;
  void *tsan = nullptr, *fake_stack = nullptr;
  char warp_sync = 0;  // its address names a warp's barrier to TSan
};

struct Block {
  Fiber* fibers = nullptr;
  int threads = 0, live = 0, arrived = 0, predicates = 0, result = 0, phase = 0, arrays = 0;
  struct {
    const void* key;
    void* at;
  } table[kMaxArrays];
  char* arena = nullptr;  // its first bytes are addresses that name barriers to TSan
  size_t used = 0, filled = 0, statics = 0, dynamic_at = 0;
};

struct Machine {
  Fiber main;
  Block blocks[kMaxResident];
  Fiber* current = nullptr;
  // Of each warp which lanes may run, and of the warps' ranks which have any. By an even seed ranks
  // stay for a while, so that a warp runs far ahead of another; by an odd one each turn draws anew.
  uint32_t ready[kWarps] = {};
  uint64_t ranks_ready[kWarps / 64] = {};
  uint16_t rank_of[kWarps] = {}, warp_of[kWarps] = {};
  bool ranked = false;
  int runnables = 0, resident = 0;
  uint64_t random = 1, random_of_launch = 0, steps = 0, step_limit = 0;
  Block* finished = nullptr;
  bool failed = false;
  const std::function<void()>* body = nullptr;
  char* stacks = nullptr;
  char end_of_launch = 0;
  std::vector<char*> old_arenas;
  std::string report;  // of the last launch that failed
  cudaError_t error = cudaSuccess;
  uint64_t launches = 0, switches = 0;
};

Machine& TheMachine();
cudaError_t LastError();  // of a kernel: it stays, as CUDA's does
// Of a call that failed: the thread's next cudaGetLastError tells it, once.
cudaError_t WithThreadError(cudaError_t error);
cudaError_t TakeThreadError();

// scheduler.cc
uint64_t Random(Machine& machine);
int Below(Machine& machine, int n);
void SwapRanks(Machine& machine, int a, int b);  // of two warps
void MakeRunnable(Machine& machine, Fiber* fiber);
Fiber* Pick(Machine& machine);
void SwitchAway(Machine& machine, bool for_good = false);  // the current fiber is in its next state

// fibers.cc
void SwitchTo(Machine& machine, Fiber* next, bool for_good = false);
// what: the fiber that calls is left as it is, with whatever it owns.
[[noreturn]] void Fail(Machine& machine, const char* what);
void Entry(ctx::transfer_t from);

// rendezvous.cc: whether all are there, who then go on
bool TryBarrier(Machine& machine, Block* block);
bool TryWarp(Machine& machine, Fiber* of);

// shared_memory.cc
void PrepareShared(Machine& machine, Block* block, size_t dynamic);

}  // namespace weir::gpu::emulator
