#include "tools/bench/section.h"

#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr bool kOneProcessor = true, kOnCard = true;

constexpr Section kSections[] = {
    {"read", "a Criteo log from the page cache to batches", BenchRead, kOneProcessor},
    {"gemm", "the products of a step, without anything around them", BenchGemm, kOneProcessor},
    {"step", "where the time of a training step goes", BenchStep, kOneProcessor},
    {"train", "whole training steps, without servers", BenchTrain},
    {"select", "accumulate and select of one layer, in GB of gradient, beside memcpy and PyTorch",
     BenchSelect, kOneProcessor},
    {"policies", "selection and coding of each policy, beside DCT-DP's and torch.topk",
     BenchPolicies},
    {"agree", "what each of n trainers selects that agree on what they send, and how they share it",
     BenchAgree, kOneProcessor},
    {"split",
     "what DCT-MP does with activations, beside memcpy, torch.topk and sending all of them",
     BenchSplit, kOneProcessor},
    {"code", "gradient frames: written, read, applied", BenchCode, kOneProcessor},
    {"store",
     "embedding rows of one partition: reads, updates by row-wise Adagrad, pulls while it grows",
     BenchStore, kOneProcessor},
    {"transport", "messages between two threads over tcp on this machine", BenchTransport},
    {"overlap", "products of steps beside pushes that are sent meanwhile", BenchOverlap},
    {"plan", "the search for the best pushes of 160 layers, beside the time it may take", BenchPlan,
     kOneProcessor},
    {"distributed", "one server and one trainer on this machine, beside one process",
     BenchDistributed},
    {"network", "training behind 1 Gbit/s and 100 Mbit/s: DCT beside sending everything",
     BenchNetwork},
    {"durability", "training with logs and with checkpoints, beside the same without",
     BenchDurability},
    {"checkpoint", "how long training stands still for a checkpoint of more than a gigabyte",
     BenchCheckpoint},
    {"security", "training with keys, beside the same without", BenchSecurity},
    {"flood", "training with keys while strangers connect 10,000 times a second, beside the same",
     BenchFlood},
    {"memory", "resident memory of server and trainers over 200,000 steps", BenchMemory},
    {"gpu/select", "a card's copies, and selection of a layer of 64 M elements", BenchGpuSelect,
     !kOneProcessor, kOnCard},
    {"gpu/split", "what DCT-MP selects of 16,384 x 1,024 activations on a card", BenchGpuSplit,
     !kOneProcessor, kOnCard},
    {"gpu/kernels", "each kernel of a step on a card, beside what it cannot be faster than",
     BenchGpuKernels, !kOneProcessor, kOnCard},
    {"gpu/products", "the products of each layer on a card, beside PyTorch's", BenchGpuProducts,
     !kOneProcessor, kOnCard},
    {"gpu/served", "training on a card with one server on this machine, beside one process",
     BenchGpuServed, !kOneProcessor, kOnCard},
    {"gpu/train_f32", "whole training steps on a card, beside PyTorch's", BenchGpuTrainF32,
     !kOneProcessor, kOnCard},
    {"gpu/train_bf16", "the same with products of bfloat16", BenchGpuTrainBf16, !kOneProcessor,
     kOnCard},
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
