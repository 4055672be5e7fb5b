#include "gpu/emulator/machine.h"
#include "gpu/emulator/sanitizers.h"

namespace weir::gpu::emulator {

namespace {
uint64_t Folded(const Fiber& fiber, Op op, uint64_t folded) {
  const auto a = static_cast<unsigned>(folded), b = static_cast<unsigned>(fiber.in);
  switch (op) {
    case Op::kBallot:
      return folded | static_cast<uint64_t>(b != 0) << fiber.lane;
    case Op::kAdd:
      return a + b;
    case Op::kMax:
      return b > a ? b : a;
    default:
      return folded;
  }
}

// The lane whose value a shuffle gives this one, or -1 for what is no shuffle.
int ShuffledFrom(const Fiber& fiber, Op op) {
  const int base = fiber.lane & ~(fiber.width - 1), end = base + fiber.width;
  const int down = fiber.lane + fiber.parameter, up = fiber.lane - fiber.parameter,
            other = fiber.lane ^ fiber.parameter;
  switch (op) {
    case Op::kShuffleUp:
      return up < base ? fiber.lane : up;
    case Op::kShuffleDown:
      return down >= end ? fiber.lane : down;
    case Op::kShuffleXor:
      return other >= end ? fiber.lane : other;
    default:
      return -1;
  }
}

void GiveResults(Fiber* warp, unsigned present, Op op) {
  uint64_t folded = 0;
  for (unsigned left = present; left != 0; left &= left - 1)
    folded = Folded(warp[__builtin_ctz(left)], op, folded);
  for (unsigned left = present; left != 0; left &= left - 1) {
    Fiber& fiber = warp[__builtin_ctz(left)];
    const int from = ShuffledFrom(fiber, op);
    if (from < 0) {
      fiber.out = folded & 0xffffffffu;
    } else {  // of a lane that is not there CUDA leaves it undefined
      fiber.out = (present >> from & 1) != 0 ? warp[from].in : ~uint64_t{0};
    }
  }
}

char* WarpName(const Fiber* fiber) {
  return fiber->block->arena + 2 + (fiber->warp - fiber->block->fibers) / 32;
}

}  // namespace

bool TryWarp(Machine& machine, Fiber* of) {
  Fiber* const warp = of->warp;
  unsigned present = 0;
  for (unsigned left = of->mask; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    if (lane >= of->lanes || warp[lane].state == State::kDone) continue;
    const Fiber& fiber = warp[lane];
    if (fiber.state != State::kWarp) return false;
    if (fiber.mask != of->mask || fiber.op != of->op || fiber.line != of->line)
      Fail(machine, "lanes of a warp wait at different functions or with different masks");
    present |= 1u << lane;
  }
  GiveResults(warp, present, of->op);
  for (unsigned left = present; left != 0; left &= left - 1)
    MakeRunnable(machine, &warp[__builtin_ctz(left)]);
  return true;
}

bool TryBarrier(Machine& machine, Block* block) {
  if (block->arrived == 0 || block->arrived < block->live) return false;
  if (block->live < block->threads && !options().exited_may_skip_barriers)
    Fail(machine, "a block's barrier that threads which have ended did not reach");
  int line = -1;
  for (int i = 0; i < block->threads; ++i) {
    const Fiber& fiber = block->fibers[i];
    if (fiber.state != State::kBarrier) continue;
    if (line >= 0 && fiber.line != line)
      Fail(machine, "threads of a block wait at different barriers");
    line = fiber.line;
  }
  block->result = block->predicates;
  block->arrived = block->predicates = 0;
  block->phase ^= 1;
  for (int i = 0; i < block->threads; ++i)
    if (block->fibers[i].state == State::kBarrier) MakeRunnable(machine, &block->fibers[i]);
  return true;
}

uint64_t WarpExchange(unsigned mask, Op op, int parameter, int width, uint64_t bits, int line) {
  Machine& machine = TheMachine();
  Fiber* const self = machine.current;
  self->mask = mask, self->op = op, self->parameter = parameter, self->width = width,
  self->line = line;
  self->in = bits;
  self->state = State::kWarp;
  if ((mask >> self->lane & 1) == 0) Fail(machine, "a lane is not in its own mask");
  if (op == Op::kSync) Release(WarpName(self));
  TryWarp(machine, self);
  SwitchAway(machine);
  if (op == Op::kSync) Acquire(WarpName(self));
  return self->out;
}

int BlockBarrier(int predicate, int line) {
  Machine& machine = TheMachine();
  Fiber* const self = machine.current;
  Block* const block = self->block;
  char* const name = block->arena + block->phase;
  self->line = line;
  self->state = State::kBarrier;
  ++block->arrived;
  block->predicates += predicate != 0;
  Release(name);
  TryBarrier(machine, block);
  SwitchAway(machine);
  Acquire(name);
  return block->result;
}

}  // namespace weir::gpu::emulator
