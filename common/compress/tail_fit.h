// Thresholds of a wanted share from distributions fitted to magnitudes: what SIDCo does in place of
// a selection (Abdelmoniem et al., MLSys 2021, section 2.3; lemmas 1 and 2).
//
// Thread rule: pure functions.
#pragma once

#include "common/compress/magnitude_moments.h"

namespace weir::compress {

// The threshold above which a share `ratio`, in (0, 1), of the fitted magnitudes lies. moments: of
// at least one magnitude, all above `offset`, from which the distribution begins: 0, or a threshold
// of an earlier fit whose tail this is.

// Exponential: one parameter, the mean.
double ExponentialThreshold(const Moments& moments, double offset, double ratio);

// Generalised Pareto by its first two moments. Where all magnitudes are equal, that magnitude;
// where their mean is so small or large that squares are of no use, exponential.
double ParetoThreshold(const Moments& moments, double offset, double ratio);

// Gamma from 0, its shape by the closed form of Minka (2002). Where all magnitudes are nearly
// equal, their mean. log_sum: LogSum of the magnitudes. Deviation: the tail is inverted by
// bisection; the paper's formula, -scale * (ln ratio + ln Gamma(shape)), holds for shapes near 1
// alone.
double GammaThreshold(const Moments& moments, double log_sum, double ratio);

}  // namespace weir::compress
