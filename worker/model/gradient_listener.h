// Who hears during the backward pass of a batch which of its gradients are whole, so that they can
// leave while those of earlier layers are still computed (Shi et al., OMGS-SGD, INFOCOM 2020).
//
// Each tensor is told once a batch, in backward order: the last layer of the top MLP first, a
// layer's weight and bias together; rows after all of the top MLP, once the interaction has been
// passed; then the bottom MLP. With a batch in slices all are told in the last one, whose share of
// the backward pass is what is still to come. Of an empty batch all are told, too: they are zero.
// Of a stage, its own are; rows by the stage that has the interaction.
//
// What whole means: on the CPU the gradient is there, and the sums of squares that belong to it. On
// a device with memory of its own it is enqueued, so who wants it elsewhere records an event in the
// stream. Where such a device repeats what it was once told to do (device::Stream::Repeat, which is
// a model in one piece) nobody can be called from within, and all are told behind it, in the same
// order: an event is then that of the whole pass, which is short there.
//
// Not told: that the loss is finite. It is awaited later, and gradients of one that is not are of
// no use. Nor is a gradient clipped: its factor is of all layers. The layer's own weights are still
// read, for the gradient of what came in, when it is told.
//
// Place in the life of a batch: within backward, on the thread that computes, which waits for it.
// Thread rule: as the implementation says.
#pragma once

#include <cstdint>

#include "common/device/device.h"

namespace weir::model {

class GradientListener {
 public:
  virtual ~GradientListener() = default;

  // Those of ModelLayout::tensors() from begin until before end, which are in GradientBuffers'
  // dense.
  virtual void OnTensors(device::Stream& stream, uint32_t begin, uint32_t end) = 0;
  // All of the batch's rows, and their sums of squares.
  virtual void OnRows(device::Stream& stream) = 0;
};

}  // namespace weir::model
