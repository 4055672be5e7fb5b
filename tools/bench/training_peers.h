// What whole training steps stand beside: the same model in PyTorch, alone and with FBGEMM and
// TorchRec, each as a variant of tools/bench/peers/pytorch_dlrm.py. Every variant is measured once;
// the fastest of each precision is then measured again, in turns with ours.
//
// Thread rule: as in program.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tools/bench/section.h"
#include "tools/bench/temporary_folder.h"

namespace weir::bench {

struct TrainingVariant {
  std::string name;                    // as lines call it: "fbgemm_compile"
  bool bf16 = false;                   // else F32
  std::vector<std::string> arguments;  // of the script
};
std::span<const TrainingVariant> TrainingVariants();

// How fast a variant was, with one thread.
struct VariantRate {
  TrainingVariant variant;
  std::string peer;               // what it is, with its versions; or why it could not be measured
  double samples_per_second = 0;  // 0: could not be measured
};

// The fastest of that precision; null where none could be measured.
const VariantRate* Fastest(const std::vector<VariantRate>& rates, bool bf16);

// The peers at one batch size. Each call starts PyTorch, once a variant.
class TrainingPeers {
 public:
  static Result<TrainingPeers> Make(int64_t batch, const Options& options);

  // All variants, those in BF16 only where asked for: what each reaches, or why it cannot run.
  // Nothing where there is no PyTorch.
  void MeasureAll(bool with_bf16);
  const std::vector<VariantRate>& all() const { return all_; }

  // The fastest variants again. One that fails this time is said to, and counts no more.
  void MeasureFastest();
  // Of the fastest in F32, each time; empty: could not be measured.
  const std::vector<double>& one_thread() const { return one_thread_; }
  const std::vector<double>& two_threads() const { return two_threads_; }
  // Of the fastest in BF16, one thread.
  const std::vector<double>& bf16() const { return bf16_; }

 private:
  TrainingPeers(int64_t batch, const Options& options, TemporaryFolder cache);

  std::vector<std::string> Arguments(const TrainingVariant& variant,
                                     const std::string& threads) const;
  void MeasureAgain(const TrainingVariant& variant, const std::string& threads,
                    std::vector<double>* one, std::vector<double>* two) const;

  int64_t batch_;
  Options options_;
  TemporaryFolder cache_;  // what torch.compile made, for the next process
  std::vector<VariantRate> all_;
  std::vector<double> one_thread_, two_threads_, bf16_;
};

}  // namespace weir::bench
