// What the environment tells OpenBLAS, which reads it while it is loaded. Peers are measured at
// their best, and left alone OpenBLAS finds out best what the processor is: told of an older one,
// it runs at half the speed, and PyTorch with it.
//
// Thread rule: before the first thread.
#pragma once

namespace weir::bench {

// Without variables OPENBLAS_...: returns. With some: starts this program once more without them,
// for itself and for the programs that it runs.
void LetOpenBlasChoose(char** argv);

}  // namespace weir::bench
