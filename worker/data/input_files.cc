#include "worker/data/input_files.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::data {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;
using Strings = google::protobuf::RepeatedPtrField<std::string>;

bool IsPattern(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

// What our own programs write aside, NAME.partial or NAME.partial-PID, and a killed one leaves.
bool IsHalfWritten(std::string_view name) {
  constexpr std::string_view kMark = ".partial";
  const size_t mark = name.rfind(kMark);
  if (mark == std::string_view::npos) return false;
  const std::string_view rest = name.substr(mark + kMark.size());
  return rest.empty() || (rest.size() > 1 && rest[0] == '-' &&
                          rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

// wanted: the part of a pattern that the name matches; what it spells is asked for.
bool IsPassedOver(std::string_view name, std::string_view wanted) {
  const auto begins = [&](char c) { return name.starts_with(c) && !wanted.starts_with(c); };
  return begins('.') || begins('_') || (name.ends_with(".crc") && !wanted.ends_with(".crc")) ||
         (IsHalfWritten(name) && wanted.find(".partial") == std::string_view::npos);
}

// Folders too: what is in out/_temporary an unfinished job has left.
bool HasPartPassedOver(const fs::path& name, const fs::path& pattern) {
  auto wanted = pattern.begin();
  for (const fs::path& part : name) {
    if (wanted == pattern.end()) return false;
    if (IsPassedOver(part.string(), (wanted++)->string())) return true;
  }
  return false;
}

// A folder as the beginning of a pattern, in which none of its characters counts as one.
std::string Escaped(const std::string& folder) {
  std::string escaped;
  for (const char c : folder) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

class Matches {
 public:
  explicit Matches(const std::string& pattern)
      : code_(glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &found_)) {}
  ~Matches() { globfree(&found_); }
  Matches(const Matches&) = delete;
  Matches& operator=(const Matches&) = delete;

  bool failed() const { return code_ != 0 && code_ != GLOB_NOMATCH; }
  Names All() const {
    if (code_ != 0) return {};
    return {found_.gl_pathv, found_.gl_pathv + found_.gl_pathc};
  }

 private:
  glob_t found_ = {};
  const int code_;
};

// What one name of a list means.
class Finder {
 public:
  // field: of the name, for messages.
  Finder(std::string root, std::string field, std::string name)
      : root_(std::move(root)), field_(std::move(field)), name_(std::move(name)) {}

  Result<Names> Find() const {
    std::error_code error;
    const fs::file_status status = fs::status(PathOf(name_), error);
    Names found;
    if (fs::is_directory(status)) {
      WEIR_RETURN_IF_ERROR(AddFolder(name_, &found));
    } else if (fs::exists(status) || !IsPattern(name_)) {
      return Names{name_};
    } else {
      WEIR_RETURN_IF_ERROR(AddMatches(&found));
    }
    return WithoutEmpty(std::move(found));
  }

 private:
  fs::path PathOf(const std::string& name) const { return fs::path(root_) / name; }
  bool IsFolder(const std::string& name) const {
    std::error_code error;
    return fs::is_directory(PathOf(name), error);
  }

  Status AddMatches(Names* found) const {
    const std::string pattern = PathOf(name_);
    if (name_.find("**") != std::string::npos) {
      return Wrong(StrCat("'**' in ", pattern, " is no pattern; write one '*' for each folder"));
    }
    const bool is_relative = !root_.empty() && !fs::path(name_).is_absolute();
    const std::string prefix = is_relative ? (fs::path(root_) / "").string() : "";
    const Matches matches(Escaped(prefix) + name_);
    if (matches.failed()) return Wrong(StrCat("the folders of ", pattern, " cannot be read"));
    Names names;
    for (const std::string& path : matches.All()) {
      std::string name = path.substr(prefix.size());
      if (!HasPartPassedOver(name, name_)) names.push_back(name);
    }
    std::ranges::sort(names);
    for (const std::string& name : names) {
      if (!IsFolder(name)) {
        found->push_back(name);
      } else {
        WEIR_RETURN_IF_ERROR(AddFolder(name, found));
      }
    }
    if (found->empty())
      return Wrong(StrCat("no file matches ", pattern, "; correct it or data.root"));
    return OkStatus();
  }

  // Folders below it would be left out without a word.
  Status AddFolder(const std::string& folder, Names* found) const {
    std::error_code error;
    Names names;
    for (fs::directory_iterator i(PathOf(folder), error), end; !error && i != end;
         i.increment(error)) {
      const std::string name = i->path().filename();
      if (!IsPassedOver(name, "")) names.push_back((fs::path(folder) / name).string());
    }
    const std::string path = PathOf(folder);
    if (error) return Wrong(StrCat("folder ", path, " cannot be read: ", error.message()));
    if (names.empty()) return Wrong(StrCat("folder ", path, " has no file to read"));
    std::ranges::sort(names);
    const auto inner =
        std::ranges::find_if(names, [&](const auto& name) { return IsFolder(name); });
    if (inner != names.end()) {
      return Wrong(StrCat("folder ", path, " has folders, such as ",
                          fs::path(*inner).filename().string(), "; name those to read, ",
                          "for example by the pattern ", (fs::path(folder) / "*").string()));
    }
    found->insert(found->end(), names.begin(), names.end());
    return OkStatus();
  }

  // As writers leave of a part that got no row.
  Result<Names> WithoutEmpty(Names found) const {
    const size_t count = found.size();
    std::erase_if(found, [&](const std::string& name) {
      std::error_code error;
      return fs::file_size(PathOf(name), error) == 0 && !error;
    });
    if (found.empty()) return Wrong(StrCat("all files of ", PathOf(name_).string(), " are empty"));
    LOG(INFO) << field_ << ": " << PathOf(name_).string() << " means " << found.size()
              << (found.size() == 1 ? " file, " : " files, ") << found.front()
              << (found.size() > 1 ? " to " + found.back() : "")
              << (found.size() < count
                      ? StrCat("; empty ones are passed over: ", count - found.size())
                      : "");
    return found;
  }

  Status Wrong(const std::string& what) const { return NotFound(StrCat(field_, ": ", what)); }

  const std::string root_, field_, name_;
};

Result<Strings> FindAll(const std::string& root, const std::string& field, const Strings& names) {
  Strings all;
  for (int i = 0; i < names.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(const Names found,
                          Finder(root, StrCat(field, "[", i, "]"), names.Get(i)).Find());
    for (const std::string& name : found) *all.Add() = name;
  }
  return all;
}

}  // namespace

Result<v1::DataConfig> FindFiles(const v1::DataConfig& data) {
  if (data.has_synthetic()) return data;
  v1::DataConfig found = data;
  WEIR_ASSIGN_OR_RETURN(*found.mutable_train(), FindAll(data.root(), "data.train", data.train()));
  WEIR_ASSIGN_OR_RETURN(*found.mutable_test(), FindAll(data.root(), "data.test", data.test()));
  return found;
}

}  // namespace weir::data
