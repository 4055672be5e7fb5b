#include "worker/push/encode_times.h"

#include <algorithm>

namespace weir::worker {

void EncodeTimes::Add(double layers, double rows, std::optional<double> writing) {
  if (writing) {
    close_layers_ += layers;
    close_writing_ += *writing;
  }
  const double share = close_layers_ > 0 ? std::min(1.0, close_writing_ / close_layers_) : 0;
  times_.select += (1 - share) * layers;
  times_.encode += share * layers + rows;
}

EncodeTimes::Step::Step(EncodeTimes* times) : times_(*times) {
  times_.is_close_ = times_.steps_++ % kCloseEvery == 0;
  times_.writing_ = times_.rows_ = 0;
}

EncodeTimes::Step::~Step() {
  const double layers = MonotonicSeconds() - begin_ - times_.rows_;
  times_.Add(layers, times_.rows_,
             times_.is_close_ ? std::optional(times_.writing_) : std::nullopt);
  times_.is_close_ = false;
}

}  // namespace weir::worker
