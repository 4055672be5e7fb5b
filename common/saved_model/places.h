// Whether a path lies in a saved model. A run that saves to the model's folder replaces all of it,
// and a folder with anything else in it is none that may be replaced, so nothing may be written
// there.
//
// Place in the life of a batch: none; what flags name is looked at before a run.
// Thread rule: pure functions; the file system may change meanwhile.
#pragma once

#include <string>

namespace weir::saved_model {

// Without slashes at the end, for a name beside it.
std::string WithoutSlashes(std::string directory);

std::string FileIn(const std::string& directory, const std::string& name);

// The folder of the saved model that the path is or lies in, however deep; empty if there is none.
// Of the path itself nothing needs to be there.
std::string ModelAround(const std::string& path);

// Whether both name the same folder, which need not be there. No path: none.
bool IsSameFolder(const std::string& one, const std::string& other);

// Whether the path is the folder, or lies in it. Neither needs to be there.
bool LiesIn(const std::string& path, const std::string& folder);

}  // namespace weir::saved_model
