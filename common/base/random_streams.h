// What keeps the random numbers of a seed apart: every use of one has a word of its own here, the
// first of its key (common/base/random.h), so that two uses never draw the same numbers.
//
// Three seeds have lists of their own: the run's, that of a layer's policy, which is made of it,
// and that of synthetic data, which does not depend on it. The numbers decide initial values, rows
// and what policies send: a word that is taken stays as it is, and a new use takes a new one, also
// where the seed is another, for seeds may be equal. That 1 and 2 stand in two lists does no harm:
// the rest of their keys differs. tests/common/base/random_streams_test.cc draws from all of them.
// Thread rule: constants.
#pragma once

#include <cstdint>

namespace weir {

// Of run.seed.
enum class RunStream : uint64_t {
  kInitialDense = 1,      // initial values of layers, by tensor and element
  kInitialRow = 2,        // initial values of embedding vectors, by table and id
  kPolicy = 201,          // the seed of the policies of a trainer, by trainer
  kSplit = 202,           // the seed of the split policies, by trainer and, in one worker, thread
  kRowShuffle = 0x5bff1e  // the order of a chunk's rows, by epoch, file and chunk
};

// Of Scope::seed (common/compress/policy.h), by tensor and step, and where it says so by stripe. A
// layer has one policy, so policies that draw for the same purpose may share a word.
enum class PolicyStream : uint64_t {
  kThresholdSample = 101,  // which elements a threshold is estimated from: dct_dp, sidco
  kDrain = 102,            // whether dct_dp drains a layer in this step
  kRandomK = 111,          // which elements random_k sends, by stripe
  kQsgd = 112,             // which way qsgd rounds, by stripe
  kTernGrad = 113          // which elements terngrad sends, by stripe
};

// Of data.synthetic.seed.
enum class SyntheticStream : uint64_t {
  kFeature = 1,        // how the features are distributed
  kTeacher = 2,        // the teacher's weights and waves
  kTeacherSample = 3,  // the rows that the teacher is scaled by
  kHiddenVector = 4,   // the teacher's vectors, by table and rank
  kRow = 5             // features and label, by position
};

// Seeds of their own: where a row lies must not depend on the run's.
inline constexpr uint64_t kRowServerSeed = 0x5e12;     // by table and id
inline constexpr uint64_t kRowPartitionSeed = 0x9a27;  // by table and id

}  // namespace weir
