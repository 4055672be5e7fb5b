// How a process keeps its memory: large buffers (messages, frames, row values) come and go with
// every push, and a kernel that takes their pages back in between costs one fault for each 4 KiB
// when they return, about as much as sending the bytes.
//
// Thread rule: first thing in main, before other threads.
#pragma once

namespace weir {

// Keeps what is freed for what comes next: buffers up to 32 MiB from the heap, which shrinks only
// when 256 MiB at its end are free; the heaps of other threads come and go in parts of 64 MiB.
// Larger buffers are given back at once. Nothing happens without the GNU allocator.
void KeepFreedMemory();

}  // namespace weir
