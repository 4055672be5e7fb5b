// One factory per split policy, each with its source. Only common/split/split_policy.cc calls them.
#pragma once

#include <memory>

#include "common/split/split_policy.h"

namespace weir::split {

// Everything, both ways.
std::unique_ptr<SplitPolicy> MakeWhole(wire::ValueCoding values);

// DCT-MP, the largest magnitudes of each sample (Gupta et al., KDD 2021, section 2.2, algorithm 2):
// as many as its text says, or with one_based_rank one more, as the algorithm prints it.
std::unique_ptr<SplitPolicy> MakeDctMp(const v1::DctMpPolicy& config, wire::ValueCoding values);

// So many elements of each sample that chance chose.
std::unique_ptr<SplitPolicy> MakeRandomK(const v1::RandomKSplitPolicy& config,
                                         wire::ValueCoding values, uint64_t seed);

// Codes of a few bits, both ways.
std::unique_ptr<SplitPolicy> MakeQuantize(const v1::QuantizePolicy& config);

// A product with a random matrix (Gupta et al. 2021, appendix A, table 6): a new one each batch, or
// with `fixed` one for the run.
std::unique_ptr<SplitPolicy> MakeGaussianSketch(const v1::GaussianSketchPolicy& config,
                                                wire::ValueCoding values, uint64_t seed,
                                                const kernels::KernelTable& kernels);

// Of the gradient the largest magnitudes (Gupta et al. 2021, appendix A, table 7), of each sample
// or of the whole batch.
std::unique_ptr<SplitPolicy> MakeTopKGradient(const v1::TopKGradientPolicy& config,
                                              wire::ValueCoding values);

}  // namespace weir::split
