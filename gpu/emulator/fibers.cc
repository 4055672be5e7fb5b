#include "gpu/emulator/machine.h"
#include "gpu/emulator/sanitizers.h"

namespace weir::gpu::emulator {

constinit thread_local Place* place = nullptr;

void SwitchTo(Machine& machine, Fiber* next, bool for_good) {
  Fiber* const self = machine.current;
  machine.current = next;
  place = &next->place;
  ++machine.steps;
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(for_good ? nullptr : &self->fake_stack, next->stack,
                                   next->stack_size);
  if (HasTsan()) __tsan_switch_to_fiber(next->tsan, 1);  // 1: the switch itself orders nothing
  const ctx::transfer_t t = ctx::jump_fcontext(next->context, self);
  static_cast<Fiber*>(t.data)->context = t.fctx;
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(self->fake_stack, nullptr, nullptr);
}

namespace {

// Where the threads of the blocks at work are, those alike together.
void ListThreads(Machine& machine) {
  for (int b = 0; b < machine.resident; ++b) {
    const Block& block = machine.blocks[b];
    if (block.live == 0) continue;
    int listed = 0;
    for (int i = 0; i < block.threads && listed < 6; ++i) {
      const Fiber& fiber = block.fibers[i];
      if (i > 0 && fiber.state == fiber.block->fibers[i - 1].state &&
          fiber.line == fiber.block->fibers[i - 1].line)
        continue;
      const char* const states[] = {"runs", "waits for its warp", "waits for its block",
                                    "has ended"};
      machine.report += "  block " + std::to_string(fiber.place.block.x) + " threads from " +
                        std::to_string(i) + ": " + states[static_cast<int>(fiber.state)] +
                        (fiber.state == State::kDone || fiber.state == State::kRunnable
                             ? ""
                             : " at line " + std::to_string(fiber.line)) +
                        "\n";
      ++listed;
    }
  }
}

}  // namespace

[[noreturn]] void Fail(Machine& machine, const char* what) {
  machine.failed = true;
  machine.report = std::string(what) + "\n";
  ListThreads(machine);
  SwitchTo(machine, &machine.main);
  __builtin_unreachable();
}

namespace {

void Arrive(Machine& machine, ctx::transfer_t t) {  // on a fiber's own stack, for the first time
  auto* const from = static_cast<Fiber*>(t.data);
  from->context = t.fctx;
  if (__sanitizer_finish_switch_fiber == nullptr) return;
  const void* bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (from != &machine.main) return;
  machine.main.stack = static_cast<char*>(const_cast<void*>(bottom));
  machine.main.stack_size = size;
}

void End(Machine& machine, Fiber* self) {  // those who waited for it need not any more
  Block* const block = self->block;
  self->state = State::kDone;
  if (--block->live == 0) {
    machine.finished = block;
    SwitchTo(machine, &machine.main, true);
  }
  for (int i = 0; i < self->lanes; ++i) {
    Fiber& other = self->warp[i];
    if (other.state == State::kWarp && (other.mask >> self->lane & 1) != 0)
      TryWarp(machine, &other);
  }
  TryBarrier(machine, block);
  SwitchAway(machine, true);
}

}  // namespace

void Entry(ctx::transfer_t from) {
  Machine& machine = TheMachine();
  Fiber* const self = machine.current;
  Arrive(machine, from);
  Acquire(self->block);
  (*machine.body)();
  Release(&machine.end_of_launch);
  End(machine, self);
  __builtin_unreachable();
}

}  // namespace weir::gpu::emulator
