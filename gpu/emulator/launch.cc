#include <sys/mman.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "gpu/emulator/machine.h"
#include "gpu/emulator/sanitizers.h"

namespace weir::gpu::emulator {
namespace {

struct Shape {
  dim3 grid, block;
  size_t dynamic_shared;
  unsigned blocks() const { return grid.x * grid.y * grid.z; }
  unsigned threads() const { return block.x * block.y * block.z; }
};

uint3 PlaceIn(dim3 size, unsigned index) {
  return {index % size.x, index / size.x % size.y, index / size.x / size.y};
}

void ReserveStacks(Machine& machine) {
  if (machine.stacks != nullptr) return;
  machine.stacks =
      static_cast<char*>(mmap(nullptr, kStack * kMaxThreads * kMaxResident, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (machine.stacks == MAP_FAILED) std::abort();
}

void GiveStack(Machine& machine, const Block* block, int thread, Fiber* fiber) {
  if (fiber->stack == nullptr) {
    const size_t n =
        static_cast<size_t>(block - machine.blocks) * kMaxThreads + static_cast<size_t>(thread);
    fiber->stack = machine.stacks + n * kStack + kGuard;
    fiber->stack_size = kStack - kGuard - n % 32 * 192;  // tops that do not share a cache set
    mprotect(fiber->stack - kGuard, kGuard, PROT_NONE);
  }
  Unpoison(fiber->stack, fiber->stack_size);
  fiber->context = ctx::make_fcontext(fiber->stack + fiber->stack_size, fiber->stack_size, Entry);
  fiber->fake_stack = nullptr;
  // Kept: making one takes milliseconds, and so a stack is always the same TSan thread's. What TSan
  // cannot see for it: races of blocks that follow one another in one slot.
  if (HasTsan() && fiber->tsan == nullptr) fiber->tsan = __tsan_create_fiber(0);
}

void Admit(Machine& machine, Block* block, unsigned index, const Shape& shape) {
  const int threads = static_cast<int>(shape.threads());
  if (block->fibers == nullptr) block->fibers = new Fiber[kMaxThreads];
  PrepareShared(machine, block, shape.dynamic_shared);
  block->threads = block->live = threads;
  block->arrived = block->predicates = block->phase = block->arrays = 0;
  block->statics = 0;
  for (int i = 0; i < threads; ++i) {
    Fiber& fiber = block->fibers[i];
    fiber.block = block;
    fiber.warp_id = static_cast<int>(block - machine.blocks) * 32 + i / 32;
    fiber.lane = i % 32;
    fiber.warp = &block->fibers[i - fiber.lane];
    fiber.lanes = std::min(threads - (i - fiber.lane), 32);
    fiber.line = 0;
    fiber.place = {PlaceIn(shape.block, static_cast<unsigned>(i)), PlaceIn(shape.grid, index),
                   shape.block, shape.grid};
    GiveStack(machine, block, i, &fiber);
    MakeRunnable(machine, &fiber);
  }
  Release(block);
}

void Reset(Machine& machine, const Shape& shape) {
  if (HasTsan()) machine.main.tsan = __tsan_get_current_fiber();
  machine.current = &machine.main;
  machine.runnables = 0, machine.steps = 0, machine.failed = false, machine.finished = nullptr;
  machine.random = (options().seed * 0x9e3779b97f4a7c15u) ^
                   (++machine.launches * 0xbf58476d1ce4e5b9u) ^ 0x94d049bb133111ebu;
  for (int i = 0; i < 8; ++i) Random(machine);
  machine.random_of_launch = Random(machine);
  machine.ranked = options().seed % 2 == 0;
  std::fill(std::begin(machine.ready), std::end(machine.ready), 0u);
  std::fill(std::begin(machine.ranks_ready), std::end(machine.ranks_ready), uint64_t{0});
  for (int i = 0; i < kWarps; ++i)
    machine.rank_of[i] = machine.warp_of[i] = static_cast<uint16_t>(i);
  machine.step_limit = options().steps_of_a_thread * (shape.blocks() + 8) * shape.threads();
  const int most = std::min(options().resident_blocks, kMaxResident);
  machine.resident = static_cast<int>(std::min(static_cast<unsigned>(most), shape.blocks()));
}

std::vector<unsigned> OrderOfBlocks(Machine& machine, unsigned total) {
  std::vector<unsigned> order(total);
  std::iota(order.begin(), order.end(), 0u);
  if (!options().shuffle_blocks) return order;
  for (unsigned i = total; i > 1; --i) std::swap(order[i - 1], order[Random(machine) % i]);
  return order;
}

void RunBlocks(Machine& machine, const Shape& shape) {
  const std::vector<unsigned> order = OrderOfBlocks(machine, shape.blocks());
  if (machine.ranked)
    for (int i = machine.resident * 32 - 1; i > 0; --i)
      SwapRanks(machine, i, Below(machine, i + 1));
  unsigned next = 0;
  for (int b = 0; b < machine.resident; ++b)
    Admit(machine, &machine.blocks[b], order[next++], shape);
  for (unsigned done = 0; done < order.size(); ++done) {
    SwitchTo(machine, Pick(machine));
    if (machine.failed) return;
    if (next < order.size())
      Admit(machine, std::exchange(machine.finished, nullptr), order[next++], shape);
  }
}

}  // namespace

Options& options() {
  static Options all;
  return all;
}

Machine& TheMachine() {
  static Machine* machine = new Machine;
  return *machine;
}

const std::string& LastReport() { return TheMachine().report; }
uint64_t Switches() { return TheMachine().switches; }
cudaError_t LastError() { return TheMachine().error; }

namespace {
thread_local cudaError_t thread_error = cudaSuccess;
}  // namespace

cudaError_t WithThreadError(cudaError_t error) { return thread_error = error; }
cudaError_t TakeThreadError() { return std::exchange(thread_error, cudaSuccess); }

Faults& faults() {
  static Faults all;
  return all;
}

void ResetDevice() {
  faults() = {};
  TheMachine().error = cudaSuccess;
}

void Run(dim3 grid, dim3 block, size_t shared, const std::function<void()>& body) {
  Machine& machine = TheMachine();
  if (machine.error != cudaSuccess) return;  // as CUDA's: nothing runs any more
  if (faults().good_launches-- == 0) {
    machine.error = cudaErrorLaunchFailure;
    return;
  }
  const Shape shape{grid, block, shared};
  ReserveStacks(machine);
  Reset(machine, shape);
  machine.body = &body;
  RunBlocks(machine, shape);
  Acquire(&machine.end_of_launch);
  for (char* arena : machine.old_arenas) std::free(arena);
  machine.old_arenas.clear();
  machine.switches += machine.steps;
  place = nullptr;
  if (machine.failed) machine.error = cudaErrorLaunchFailure;
  if (!machine.failed) machine.report.clear();
}

}  // namespace weir::gpu::emulator
