// Plays a fuzz target without libFuzzer: its seeds, and many damaged forms of them, always the
// same.
//
//   <target>_fuzz [FILE...]     with files, plays these instead
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "common/base/random.h"
#include "tests/fuzz/target.h"

namespace weir::fuzz {
namespace {

constexpr int kDamagedForms = 1000;
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

void PlayDamaged() {
  const std::vector<std::string> seeds = FuzzSeeds();
  for (const std::string& seed : seeds) Play(seed);
  RandomStream random(1);
  for (int i = 0; i < kDamagedForms; ++i) {
    std::string text = seeds[random.Next() % seeds.size()];
    for (uint64_t count = 1 + random.Next() % 6; count > 0; --count) DamageOnce(&random, &text);
    Play(text);
  }
  std::cout << seeds.size() << " seeds and " << kDamagedForms << " damaged forms of them\n";
}

int PlayFiles(int count, char** paths) {
  for (int i = 0; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    if (!file) {
      std::cerr << "error: " << paths[i] << " cannot be opened\n";
      return 1;
    }
    Play({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  }
  return 0;
}

}  // namespace
}  // namespace weir::fuzz

int main(int argc, char** argv) {
  if (argc > 1) return weir::fuzz::PlayFiles(argc - 1, argv + 1);
  weir::fuzz::PlayDamaged();
  return 0;
}
