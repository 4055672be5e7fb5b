// Scratch files and stand-in programs for the tests of weir-local.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tools/local/child_process.h"

namespace weir::tools {

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline void AppendFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

inline bool ProcessExists(pid_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

// Each test has an empty directory of its own.
class LocalTest : public testing::Test {
 protected:
  LocalTest() {
    std::string pattern = testing::TempDir() + "weir_local_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~LocalTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  // A process that runs a line of shell. It finds this directory in $0 and leaves its number in
  // <name>.pid.
  ChildCommand Shell(const std::string& name, const std::string& script,
                     Role role = Role::kWorker) const {
    const std::string line = "echo $$ > $0/" + name + ".pid; " + script;
    return {name, role, {"/bin/sh", "-c", line, directory_}, Path(name + ".log")};
  }

  pid_t PidOf(const std::string& name) const { return std::stoi(ReadFile(Path(name + ".pid"))); }

  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

}  // namespace weir::tools
