// Reading numbers and words from JSON that another program wrote: what is absent, null or of
// another type is "not there", never an exception.
//
// Thread rule: any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace weir::tools {

// `pointer` as in RFC 6901: "/train/samples". A NaN is written as null and so not there.
inline std::optional<double> NumberAt(const nlohmann::json& json, const std::string& pointer) {
  const nlohmann::json::json_pointer place(pointer);
  if (!json.contains(place) || !json.at(place).is_number()) return std::nullopt;
  return json.at(place).get<double>();
}

inline std::string TextAt(const nlohmann::json& json, const std::string& pointer) {
  const nlohmann::json::json_pointer place(pointer);
  if (!json.contains(place) || !json.at(place).is_string()) return {};
  return json.at(place).get<std::string>();
}

}  // namespace weir::tools
