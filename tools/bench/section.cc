#include "tools/bench/section.h"

#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr Section kSections[] = {
    {"gemm", "the products of a step, without anything around them", BenchGemm},
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
