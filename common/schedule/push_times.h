// What pushing the layers of a backward pass in groups costs: the model by which schedules choose.
//
// Layers become ready one after the other, from the last of the model to the first. What leaves in
// one push waits for its last layer, is selected by the thread that computes, and is sent; messages
// wait for each other in one queue. Few large pushes leave late, many small ones pay the start of a
// message, and of a selection, again and again.
//
// Follows the model of OMGS-SGD (Shi et al., Communication-Efficient Distributed Deep Learning with
// Merged Gradient Sparsification on GPUs, INFOCOM 2020). Ours are the period of an asynchronous
// run, and that computing may slow down while something is sent.
//
// Place in the life of a batch: none; a run plans its pushes once, by times of its first steps.
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace weir::schedule {

struct Layer {
  double backward_seconds = 0;
  int64_t element_count = 0;  // of its gradient: of what is selected from, not of what is sent
};

// All seconds are finite and not negative.
struct Costs {
  std::vector<Layer> layers = {};  // in backward order: the last of the model is the first here
  // Of a push with so many elements, > 0: g0 + g1 * d, the paper's gamma * d * log2 d, or any
  // other. Finite or infinite, not negative. Without a function selection takes no time. (The
  // paper's formula has a factor for the density, the constants in its tables have none.)
  std::function<double(int64_t)> selection_seconds = {};
  double startup_seconds = 0;  // of each message that has elements: alpha
  double element_seconds = 0;  // of each element selected from, at the density of the run: beta
  // How much longer everything computed takes while a message is under way; at least 1, which is
  // not at all. They share cores and memory where a processor trains. `weir-bench overlap` tells it
  // of a machine.
  double sending_slowdown = 1;
  double forward_seconds = 0;  // of a step before its backward pass
  // Of the message of the last push, what is there whatever the groups are: embedding rows.
  double fixed_message_seconds = 0;
};

// How many layers each push has, in backward order; each at least one, together all.
using Groups = std::vector<int>;

struct PushTimes {
  // From a step's begin to the end of its last message, if nothing else is under way: what a step
  // takes if the next one waits for it.
  double step_seconds = 0;
  // What a step takes in the long run if nobody waits for messages, so that those of a step are
  // sent while the next one computes. With C seconds of messages, W of computing and a slowdown s
  // it is the larger of C and W + (1 - 1/s) C, for computing loses that much in C.
  double period_seconds = 0;
};

PushTimes TimesOf(const Costs& costs, const Groups& groups);

// For schedules.

// One push by itself. Without elements it costs neither selection nor message.
struct Push {
  double backward_seconds = 0;
  int64_t element_count = 0;
  double selection_seconds = 0;
  double message_seconds = 0;
};

// Of layers with these sums.
Push PushOf(const Costs& costs, double backward_seconds, int64_t element_count);

// When, in a step, all pushes so far are computed and selected, and when they are sent.
struct Clocks {
  double computed = 0;
  double sent = 0;  // messages have left no gap between `computed` and this, if it is later
};

// After one more push. Never earlier if `before` is later in either clock: so of two beginnings of
// a schedule the one that is earlier in both is never worse.
Clocks After(const Clocks& before, const Push& push, double sending_slowdown);

// The period, by the sums of a step: computing, with forward pass and selection, and messages.
double PeriodSeconds(double compute_seconds, double message_seconds, double sending_slowdown);

// Ends the process if the costs are not as said above.
void CheckCosts(const Costs& costs);

}  // namespace weir::schedule
