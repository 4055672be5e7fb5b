// Plays a fuzz target without libFuzzer: its seeds, its corpus, which lies in a folder of its name,
// and many damaged forms of them, always the same.
//
//   <target>_fuzz [FILE...]            with files, plays these instead
//   <target>_fuzz --forms=N [--seed=N]  so many damaged forms, and of another seed
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/base/random.h"
#include "tests/fuzz/target.h"

namespace weir::fuzz {
namespace {

constexpr uint64_t kDamagedForms = 1000;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kTokens = "\n\r\t ,;:|\"#?+-.019eN\x80\xff";

void Play(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

void DamageOnce(RandomStream* random, std::string* text) {
  const size_t at = random->NextBelow(text->size() + 1);
  const size_t length = random->Next() % 8;
  switch (random->Next() % 6) {
    case 5:
      text->insert(at, kByteOrderMark);
      return;
    case 0:
      text->insert(at, 1, kTokens[random->Next() % kTokens.size()]);
      return;
    case 1:
      text->erase(at, length);
      return;
    case 2:
      text->insert(at, text->substr(random->Next() % (text->size() + 1), 4 * length));
      return;
    case 3:
      if (at < text->size()) (*text)[at] = static_cast<char>(random->Next());
      return;
    default:
      if (at < text->size()) (*text)[at] = kTokens[random->Next() % kTokens.size()];
      return;
  }
}

std::string ContentOf(std::ifstream& file) {
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// In the order of their names.
std::vector<std::string> Corpus() {
  std::set<std::filesystem::path> paths;
  std::error_code none;  // of many targets
  for (const auto& entry : std::filesystem::directory_iterator(WEIR_FUZZ_CORPUS, none)) {
    paths.insert(entry.path());
  }
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.push_back(ContentOf(file));
  }
  return inputs;
}

void PlayDamaged(uint64_t forms, uint64_t seed) {
  std::vector<std::string> inputs = FuzzSeeds();
  const size_t seeds = inputs.size();
  std::ranges::move(Corpus(), std::back_inserter(inputs));
  for (const std::string& input : inputs) Play(input);
  RandomStream random(seed);
  for (uint64_t i = 0; i < forms; ++i) {
    std::string text = inputs[random.Next() % inputs.size()];
    for (uint64_t count = 1 + random.Next() % 6; count > 0; --count) DamageOnce(&random, &text);
    Play(text);
  }
  std::cout << seeds << " seeds, " << inputs.size() - seeds << " files of the corpus and " << forms
            << " damaged forms of them\n";
}

int PlayFiles(int count, char** paths) {
  for (int i = 0; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    if (!file) {
      std::cerr << "error: " << paths[i] << " cannot be opened\n";
      return 1;
    }
    Play(ContentOf(file));
  }
  return 0;
}

// Of "--forms=5" the 5; else what it is without.
uint64_t NumberOf(std::string_view flag, int argc, char** argv, uint64_t otherwise) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(flag)) return std::stoull(std::string(argument.substr(flag.size())));
  }
  return otherwise;
}

}  // namespace
}  // namespace weir::fuzz

int main(int argc, char** argv) {
  namespace fuzz = weir::fuzz;
  const bool has_files = argc > 1 && !std::string_view(argv[1]).starts_with("--");
  if (has_files) return fuzz::PlayFiles(argc - 1, argv + 1);
  fuzz::PlayDamaged(fuzz::NumberOf("--forms=", argc, argv, fuzz::kDamagedForms),
                    fuzz::NumberOf("--seed=", argc, argv, 1));
  return 0;
}
