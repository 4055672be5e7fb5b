// A saved model as a safetensors file, with the names of facebookresearch/dlrm's state_dict:
// emb_l.<i>.weight, bot_l.<2i>.weight and .bias, top_l.<2i>.weight and .bias.
//
// Thread rule: any thread.
#pragma once

#include <atomic>
#include <string>

#include "common/base/status.h"
#include "tools/model/loaded_model.h"

namespace weir::tools {

// interrupted: ends it, and leaves no file. Tables have all their rows, those that training has not
// seen with their initial values. Fails, and leaves no file, when it cannot be written.
Status ExportSafetensors(const LoadedModel& model, const std::string& path,
                         const std::atomic<bool>& interrupted);

}  // namespace weir::tools
