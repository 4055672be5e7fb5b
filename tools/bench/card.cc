#include "tools/bench/card.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/strings.h"
#include "common/device/buffers.h"
#include "tools/bench/measure.h"

namespace weir::bench {
namespace {

constexpr double kRepeatSeconds = 0.05;
constexpr double kMostTimes = 1000;
constexpr size_t kCopiedFloats = 64 << 20, kQuickFloats = 70'001;

// Of `times` times, once what was enqueued before is over.
double SecondsOf(device::Stream& stream, int times, const std::function<void()>& enqueue) {
  (void)stream.Synchronize();  // what failed stays the stream's
  const double seconds = Seconds([&] {
    for (int i = 0; i < times; ++i) enqueue();
    (void)stream.Synchronize();
  });
  return seconds / times;
}

}  // namespace

Result<Card> OpenCardOf(const Options& options, kernels::Precision precision, int64_t batch_rows) {
  if (options.open_card == nullptr) return FailedPrecondition("no card was named");
  return options.open_card(precision, batch_rows);
}

Result<double> CardSeconds(device::Stream& stream, const Options& options,
                           const std::function<void()>& enqueue) {
  enqueue();  // its memory
  const double once = SecondsOf(stream, 1, enqueue);
  const int times =
      options.quick ? 1 : static_cast<int>(std::clamp(kRepeatSeconds / once, 1.0, kMostTimes));
  std::vector<double> seconds;
  seconds.reserve(static_cast<size_t>(options.repeats));
  for (int i = 0; i < options.repeats; ++i) seconds.push_back(SecondsOf(stream, times, enqueue));
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  return Median(seconds);
}

Result<double> CopyBandwidth(const Card& card, const Options& options) {
  const size_t count = options.quick ? kQuickFloats : kCopiedFloats;
  const device::Buffer<float> from(*card.device, count, "a copy"),
      to(*card.device, count, "a copy");
  const auto stream = card.device->MakeStream();
  const std::vector<float> ones(count, 1);
  stream->CopyToDevice<float>(ones, from.span());
  WEIR_ASSIGN_OR_RETURN(const double seconds, CardSeconds(*stream, options, [&] {
                          stream->CopyOnDevice<float>(from.span(), to.span());
                        }));
  std::vector<float> back(count);
  stream->CopyToHost<float>(to.span(), back);
  WEIR_RETURN_IF_ERROR(stream->Synchronize());
  if (back != ones) return Internal("a copy on the card is not what was copied");
  return 2 * sizeof(float) * static_cast<double>(count) / seconds;
}

}  // namespace weir::bench
