#include <cstdlib>
#include <cstring>
#include <utility>

#include "gpu/emulator/machine.h"
#include "gpu/emulator/sanitizers.h"

namespace weir::gpu::emulator {

void PrepareShared(Machine& machine, Block* block, size_t dynamic) {
  if (HasTsan() && block->arena != nullptr)
    machine.old_arenas.push_back(std::exchange(block->arena, nullptr));
  if (block->arena == nullptr) {
    block->arena = static_cast<char*>(std::aligned_alloc(256, kArena));
    block->used = kArena;
  }
  Unpoison(block->arena, kArena);
  std::memset(block->arena, 0xff, block->used);
  block->dynamic_at = 256;
  block->used = 256 + (dynamic + 255) / 128 * 128;
  Poison(block->arena, kArena);
  if (dynamic != 0) Unpoison(block->arena + 256, dynamic);
}

void* SharedArray(const void* key, size_t size, size_t align) {
  Machine& machine = TheMachine();
  Block* const block = machine.current->block;
  for (int i = 0; i < block->arrays; ++i)
    if (block->table[i].key == key) return block->table[i].at;
  const size_t at = (block->used + align - 1) / align * align;
  block->statics += size;
  if (block->arrays == kMaxArrays || block->statics > kStaticShared || at + size + 64 > kArena)
    Fail(machine, "too much shared memory");
  block->used = (at + size + 64 + 127) / 128 * 128;  // a red zone behind it
  Unpoison(block->arena + at, size);
  block->table[block->arrays].key = key;
  block->table[block->arrays++].at = block->arena + at;
  return block->arena + at;
}

void* DynamicShared() {
  Block* const block = TheMachine().current->block;
  return block->arena + block->dynamic_at;
}

}  // namespace weir::gpu::emulator
