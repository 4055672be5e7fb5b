#include <utility>

#include "gpu/emulator/machine.h"
#include "gpu/emulator/sanitizers.h"

namespace weir::gpu::emulator {

uint64_t Random(Machine& machine) {
  machine.random ^= machine.random << 13, machine.random ^= machine.random >> 7,
      machine.random ^= machine.random << 17;
  return machine.random;
}

int Below(Machine& machine, int n) {
  return static_cast<int>((Random(machine) >> 32) * static_cast<uint64_t>(n) >> 32);
}

namespace {
void SetReady(Machine& machine, int warp, bool is) {
  const unsigned rank = machine.rank_of[warp];
  const uint64_t bit = uint64_t{1} << (rank % 64);
  if (is)
    machine.ranks_ready[rank / 64] |= bit;
  else
    machine.ranks_ready[rank / 64] &= ~bit;
}

}  // namespace
void SwapRanks(Machine& machine, int a, int b) {  // of two warps
  std::swap(machine.rank_of[a], machine.rank_of[b]);
  machine.warp_of[machine.rank_of[a]] = static_cast<uint16_t>(a),
  machine.warp_of[machine.rank_of[b]] = static_cast<uint16_t>(b);
  SetReady(machine, a, machine.ready[a] != 0), SetReady(machine, b, machine.ready[b] != 0);
}

Fiber* Pick(Machine& machine) {
  const uint64_t chance = Random(machine);
  int from = static_cast<int>(chance % kWarps);
  if (machine.ranked) {
    from = 0;
    if (chance % 64 == 0)
      SwapRanks(machine, Below(machine, machine.resident * 32),
                Below(machine, machine.resident * 32));
  }
  int word = from / 64;
  uint64_t ready = machine.ranks_ready[word] & ~uint64_t{0} << (from % 64);
  while (ready == 0) ready = machine.ranks_ready[word = (word + 1) % (kWarps / 64)];
  const int warp = machine.warp_of[word * 64 + __builtin_ctzll(ready)];
  const uint32_t lanes = machine.ready[warp];
  const unsigned turn = static_cast<unsigned>(machine.ranked && chance >> 60 != 0
                                                  ? machine.random_of_launch >> (warp % 32)
                                                  : chance >> 32) %
                        32;
  const uint32_t turned = turn == 0 ? lanes : lanes >> turn | lanes << (32 - turn);
  const unsigned lane = (static_cast<unsigned>(__builtin_ctz(turned)) + turn) % 32;
  if ((machine.ready[warp] &= ~(1u << lane)) == 0) SetReady(machine, warp, false);
  --machine.runnables;
  return &machine.blocks[warp / 32].fibers[warp % 32 * 32 + static_cast<int>(lane)];
}

void MakeRunnable(Machine& machine, Fiber* fiber) {
  fiber->state = State::kRunnable;
  if (machine.ready[fiber->warp_id] == 0) SetReady(machine, fiber->warp_id, true);
  machine.ready[fiber->warp_id] |= 1u << fiber->lane;
  ++machine.runnables;
}

void SwitchAway(Machine& machine, bool for_good) {  // the current fiber is in its next state
  if (machine.runnables == 0) Fail(machine, "every thread waits");
  if (machine.steps > machine.step_limit)
    Fail(machine, "no end in sight: the step limit was reached");
  Fiber* const next = Pick(machine);
  if (next != machine.current) SwitchTo(machine, next, for_good);
}

void Yield() {
  Machine& machine = TheMachine();
  MakeRunnable(machine, machine.current);
  if (machine.ranked) {  // whoever waits goes behind all others
    const int last = machine.resident * 32 - 1, self = machine.current->warp_id;
    for (int rank = machine.rank_of[self]; rank < last; ++rank)
      SwapRanks(machine, self, machine.warp_of[rank + 1]);
  }
  SwitchAway(machine);
}

void MayYield() {
  Machine& machine = TheMachine();
  if ((Random(machine) & 0x300) != 0) return;
  MakeRunnable(machine, machine.current);
  SwitchAway(machine);
}

}  // namespace weir::gpu::emulator
