#include "tools/bench/section.h"

#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr bool kOneProcessor = true;

constexpr Section kSections[] = {
    {"read", "a Criteo log from the page cache to batches", BenchRead, kOneProcessor},
    {"gemm", "the products of a step, without anything around them", BenchGemm, kOneProcessor},
    {"step", "where the time of a training step goes", BenchStep, kOneProcessor},
    {"train", "whole training steps, without servers", BenchTrain},
    {"select", "accumulate and select of one layer, in GB of gradient, beside memcpy and PyTorch",
     BenchSelect, kOneProcessor},
    {"policies", "selection and coding of each policy, beside DCT-DP's and torch.topk",
     BenchPolicies},
    {"split",
     "what DCT-MP does with activations, beside memcpy, torch.topk and sending all of them",
     BenchSplit, kOneProcessor},
    {"code", "gradient frames: written, read, applied", BenchCode, kOneProcessor},
    {"store",
     "embedding rows of one partition: reads, updates by row-wise Adagrad, pulls while it grows",
     BenchStore, kOneProcessor},
    {"transport", "messages between two threads over tcp on this machine", BenchTransport},
    {"distributed", "one server and one trainer on this machine, beside one process",
     BenchDistributed},
    {"network", "training behind 1 Gbit/s and 100 Mbit/s: DCT beside sending everything",
     BenchNetwork},
    {"memory", "resident memory of server and trainers over 200,000 steps", BenchMemory},
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
