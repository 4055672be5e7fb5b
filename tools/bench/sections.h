// What each section's file gives to the table in section.cc; nobody else includes this.
//
// Thread rule: as in section.h.
#pragma once

#include "tools/bench/section.h"

namespace weir::bench {

Result<Lines> BenchSplit(const Options& options);
Result<Lines> BenchCode(const Options& options);
Result<Lines> BenchGemm(const Options& options);
Result<Lines> BenchTrain(const Options& options);
Result<Lines> BenchStep(const Options& options);
Result<Lines> BenchRead(const Options& options);
Result<Lines> BenchStore(const Options& options);
Result<Lines> BenchSelect(const Options& options);
Result<Lines> BenchPolicies(const Options& options);
Result<Lines> BenchAgree(const Options& options);
Result<Lines> BenchTransport(const Options& options);
Result<Lines> BenchOverlap(const Options& options);
Result<Lines> BenchPlan(const Options& options);
Result<Lines> BenchDistributed(const Options& options);
Result<Lines> BenchNetwork(const Options& options);
Result<Lines> BenchDurability(const Options& options);
Result<Lines> BenchCheckpoint(const Options& options);
Result<Lines> BenchSecurity(const Options& options);
Result<Lines> BenchFlood(const Options& options);
Result<Lines> BenchMemory(const Options& options);
Result<Lines> BenchGpuSelect(const Options& options);
Result<Lines> BenchGpuSplit(const Options& options);
Result<Lines> BenchGpuKernels(const Options& options);
Result<Lines> BenchGpuProducts(const Options& options);
Result<Lines> BenchGpuTrainF32(const Options& options);
Result<Lines> BenchGpuServed(const Options& options);
Result<Lines> BenchGpuTrainBf16(const Options& options);

}  // namespace weir::bench
