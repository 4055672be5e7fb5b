// The model that every training figure is for: the shape of the DCT paper (Gupta et al. 2021), 13
// dense features, 26 tables of 100,000 rows, dimension 16.
//
// Thread rule: values.
#pragma once

#include <array>
#include <cstdint>

namespace weir::bench {

struct GemmShape {
  int64_t inputs = 0;
  int64_t outputs = 0;
  bool first = false;  // nobody needs the gradient of its inputs
};

inline constexpr int kDenseFeatures = 13;
inline constexpr int kTables = 26;
inline constexpr int kTableRows = 100'000;
inline constexpr int kDimension = 16;

// bottom 13-512-256-64-16, then top 367-512-256-128-1.
inline constexpr std::array<GemmShape, 8> kDlrmLayers = {{{13, 512, true},
                                                          {512, 256},
                                                          {256, 64},
                                                          {64, 16},
                                                          {367, 512},
                                                          {512, 256},
                                                          {256, 128},
                                                          {128, 1}}};

// What one layer of an MLP gives and the next one takes.
constexpr bool IsHidden(int64_t width) {
  bool is_given = false, is_taken = false;
  for (const GemmShape& layer : kDlrmLayers) {
    is_given = is_given || layer.outputs == width;
    is_taken = is_taken || layer.inputs == width;
  }
  return is_given && is_taken;
}

// Weights and biases.
constexpr int64_t DenseElements() {
  int64_t elements = 0;
  for (const GemmShape& layer : kDlrmLayers) elements += (layer.inputs + 1) * layer.outputs;
  return elements;
}

}  // namespace weir::bench
