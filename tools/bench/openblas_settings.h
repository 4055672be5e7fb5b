// What the environment tells OpenBLAS, which reads it while it is loaded. Peers are measured at
// their best. Left alone OpenBLAS finds out best what the processor is: told of an older one, it
// runs at half the speed, and PyTorch with it. But a processor that came after OpenBLAS it takes
// for one of 2004, a fifth of the speed: then it is told of one with these vectors.
// Built without OpenBLAS, weir-bench does not know what that takes the processor for, and only
// takes the variables away.
//
// Thread rule: before the first thread.
#pragma once

namespace weir::bench {

// Returns where nothing is to be changed in variables OPENBLAS_...; else starts this program once
// more, with what is best for itself and for the programs that it runs.
void LetOpenBlasDoItsBest(char** argv);

}  // namespace weir::bench
