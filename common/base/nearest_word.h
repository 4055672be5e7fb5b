// What somebody may have meant who wrote a word that is none: for messages about flags and fields.
//
// Thread rule: pure function, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir {

// "; did you mean batch_size?", of the one of `words` that is least far from it: in letters to be
// changed, put in or left out, where capitals, '_' and '-' do not count. Empty where all are far.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& words);

}  // namespace weir
