// progress.weir of a checkpoint (checkpoint_folder.h): the name and the bytes of each part, behind
// a word that says what the file is. Its checksum is in the manifest.
//
// Place in the life of a batch: none.
// Thread rule: any thread.
#pragma once

namespace weir::saved_model {

inline constexpr const char* kProgressFile = "progress.weir";

}  // namespace weir::saved_model
