// OpenBLAS knows processors by their number, and takes those that are newer than itself for old
// ones: Debian's version runs AVX2 code on AMD processors with AVX-512, at half their speed. The
// peers, PyTorch among them, are measured at their best, so they are told.
//
// Thread rule: before the first thread.
#pragma once

namespace weir::bench {

// Starts this program once more with OPENBLAS_CORETYPE set, which OpenBLAS reads while it is loaded
// and programs that are started later inherit. Returns where nothing needs to be told, or the user
// has chosen.
void LetOpenBlasUseAvx512(char** argv);

}  // namespace weir::bench
