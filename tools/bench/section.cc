#include "tools/bench/section.h"

#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr Section kSections[] = {
    {"code", "gradient frames: written, read, applied", BenchCode},
    {"gemm", "the products of a step, without anything around them", BenchGemm},
    {"train", "whole training steps, without servers", BenchTrain},
    {"step", "where the time of a training step goes", BenchStep},
    {"read", "a Criteo log from the page cache to batches", BenchRead},
    {"store", "embedding rows of one partition: reads, and updates by row-wise Adagrad",
     BenchStore},
    {"select", "accumulate and select of one layer, in GB of gradient, beside memcpy and PyTorch",
     BenchSelect},
    {"transport", "messages between two threads over tcp on this machine", BenchTransport},
    {"network", "training behind 1 Gbit/s and 100 Mbit/s: DCT beside sending everything",
     BenchNetwork},
};

}  // namespace

std::span<const Section> Sections() { return kSections; }

const Section* FindSection(std::string_view name) {
  for (const Section& section : kSections) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

}  // namespace weir::bench
