#include "tools/local/options.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "common/base/strings.h"
#include "common/config/validate_config.h"
#include "common/config/validate_consistency.h"
#include "common/saved_model/saved_model.h"
#include "tools/local/checkpoint_options.h"
#include "tools/local/recovery_options.h"

namespace weir::tools {
namespace {

constexpr int kMaxProcesses = 1024;
constexpr int kMaxStages = 16;
constexpr int kLastPort = 65535;

using Mistakes = std::vector<std::string>;

void CheckRange(const char* flag, int value, int first, int last, Mistakes& mistakes) {
  if (value >= first && value <= last) return;
  mistakes.push_back(StrCat("--", flag, "=", value, ": must be from ", first, " to ", last));
}

void CheckCounts(const LocalOptions& options, Mistakes& mistakes) {
  CheckRange("servers", options.server_count, 0, kMaxProcesses, mistakes);
  CheckRange("trainers", options.trainer_count, 1, kMaxProcesses, mistakes);
  CheckRange("threads", options.thread_count, 1, kMaxProcesses, mistakes);
  if (IsEmbedded(options) && options.trainer_count > 1) {
    mistakes.push_back(StrCat("--servers=0 trains embedded, in one worker, but --trainers=",
                              options.trainer_count, "; use --trainers=1, or --servers=1 or more"));
  }
  CheckRange("stages", options.stage_count, 1, kMaxStages, mistakes);
  if (IsEmbedded(options) && !options.keys_directory.empty()) {
    mistakes.emplace_back("--keys: without servers nobody is spoken to; leave it out");
  }
  if (IsEmbedded(options) && options.insecure) {
    mistakes.emplace_back("--insecure: without servers nobody is spoken to; leave it out");
  }
  if (options.insecure && !options.keys_directory.empty()) {
    mistakes.emplace_back("--insecure: of a run without --keys; leave one of them out");
  }
  if (IsEmbedded(options) && options.stage_count > 1) {
    mistakes.emplace_back("--stages: without servers all stages are in one worker; leave it out");
  }
}

void CheckPorts(const LocalOptions& options, Mistakes& mistakes) {
  CheckRange("base_port", options.base_port, 0, kLastPort, mistakes);
  const int last_port = options.base_port + options.server_count - 1;
  if (options.base_port > 0 && options.base_port <= kLastPort && last_port > kLastPort) {
    mistakes.push_back(StrCat("--base_port=", options.base_port,
                              " with --servers=", options.server_count, " ends at port ", last_port,
                              "; the last there is is ", kLastPort));
  }
}

void CheckBinary(const LocalOptions& options, const char* name, Mistakes& mistakes) {
  const auto path = std::filesystem::path(options.binary_directory) / name;
  if (access(path.c_str(), X_OK) == 0) return;
  mistakes.push_back(StrCat("there is no program ", path.string(),
                            "; build it, or say where it is with --binaries=DIR"));
}

void CheckOutDirectory(const LocalOptions& options, Mistakes& mistakes) {
  std::error_code ignored;
  if (options.out_directory.empty()) return;  // no config file either, which is said
  if (options.out_directory.find(',') != std::string::npos) {
    mistakes.push_back(StrCat("--out=", options.out_directory, ": must not contain a comma"));
  } else if (std::filesystem::exists(options.out_directory, ignored) &&
             !std::filesystem::is_directory(options.out_directory, ignored)) {
    mistakes.push_back(StrCat("--out=", options.out_directory, ": is not a directory"));
  } else if (std::filesystem::exists(
                 std::filesystem::path(options.out_directory) / saved_model::kManifestFile,
                 ignored)) {
    mistakes.push_back(StrCat("--out=", options.out_directory,
                              ": holds a saved model; name another folder for results"));
  }
}

Mistakes StageMistakes(const LocalOptions& options, const v1::Config& config) {
  if (options.stage_count <= 1) return {};
  const int stages = config.pipeline().split_size() + 1;
  if (options.stage_count == stages) return config::ValidateStage(config, stages - 1);
  return {StrCat("--stages=", options.stage_count, ": pipeline.split makes ", stages,
                 stages == 1 ? " stage" : " stages", " of the model; give that, or 1")};
}

// One mistake, of however many trainers.
void CheckDeviceName(const char* flag, const std::string& text, const DeviceCheck& check,
                     Mistakes& mistakes) {
  const auto name = device::ParseDeviceName(text);
  const Status status = name.ok() && check ? check(*name) : name.status();
  std::string mistake = StrCat(flag, ": ", status.message());
  const bool is_new = std::ranges::find(mistakes, mistake) == mistakes.end();
  if (!status.ok() && is_new) mistakes.push_back(std::move(mistake));
}

void CheckDeviceNames(const LocalOptions& options, const DeviceCheck& check, Mistakes& mistakes) {
  if (options.device) CheckDeviceName("--device", *options.device, check, mistakes);
  for (const std::string& text : options.devices) {
    CheckDeviceName("--devices", text, check, mistakes);
  }
  const auto count = static_cast<int>(options.devices.size());
  if (count == 0) return;
  if (options.device) {
    mistakes.emplace_back("--device and --devices both say where trainers compute; leave one out");
  }
  if (count != options.trainer_count) {
    mistakes.push_back(StrCat("--devices: names ", count,
                              ", and --trainers=", options.trainer_count, "; name one for each"));
  }
}

void CheckDevices(const LocalOptions& options, const DeviceCheck& check, Mistakes& mistakes) {
  CheckDeviceNames(options, check, mistakes);
  if (const auto memory = device::ParseMemorySize(options.device_memory); !memory.ok()) {
    mistakes.push_back(StrCat("--device_memory: ", memory.status().message()));
  }
  const bool has_card =
      options.devices.empty()
          ? options.device.value_or("cpu") != "cpu"
          : std::ranges::any_of(options.devices, [](const auto& name) { return name != "cpu"; });
  if (!options.device_memory.empty() && !has_card) {
    mistakes.emplace_back("--device_memory: of a card, and no trainer is on one; leave it out");
  }
}

}  // namespace

std::string DefaultOut(const std::vector<std::string>& config_files) {
  std::vector<std::string> names;
  names.reserve(config_files.size());
  for (const std::string& file : config_files) {
    names.push_back(std::filesystem::path(file).stem().string());
  }
  return names.empty() ? "" : StrCat("out/", StrJoin(names, "-"));
}

std::string DeviceOf(const LocalOptions& options, int trainer) {
  return options.devices.empty() ? options.device.value_or("cpu")
                                 : options.devices[static_cast<size_t>(trainer)];
}

std::vector<std::string> OptionMistakes(const LocalOptions& options, const DeviceCheck& check) {
  Mistakes mistakes;
  if (options.config_files.empty()) {
    mistakes.emplace_back("--config=a.textproto,b.textproto is required: the files to overlay");
  }
  CheckCounts(options, mistakes);
  CheckPorts(options, mistakes);
  CheckDevices(options, check, mistakes);
  CheckOutDirectory(options, mistakes);
  std::ranges::move(RecoveryMistakes(options), std::back_inserter(mistakes));
  std::ranges::move(CheckpointMistakes(options), std::back_inserter(mistakes));
  if (!IsEmbedded(options)) CheckBinary(options, "weir-server", mistakes);
  CheckBinary(options, "weir-worker", mistakes);
  return mistakes;
}

std::vector<std::string> RunMistakes(const LocalOptions& options, const v1::Config& config) {
  Mistakes mistakes = IsEmbedded(options) ? config::ValidateEmbedded(config) : Mistakes();
  std::ranges::move(StageMistakes(options, config), std::back_inserter(mistakes));
  std::ranges::move(config::ValidateThreads(config, options.thread_count),
                    std::back_inserter(mistakes));
  if (const int wanted = config.consistency().sync().trainers(); wanted > options.trainer_count) {
    mistakes.push_back(StrCat("consistency.sync.trainers: the first round would wait for ", wanted,
                              ", and --trainers=", options.trainer_count, " are started"));
  }
  std::ranges::move(DurabilityMistakes(options, config.cluster()), std::back_inserter(mistakes));
  return mistakes;
}

void AwaitTrainers(const LocalOptions& options, v1::Config* config) {
  if (!config->consistency().has_sync()) return;
  v1::SyncConsistency& sync = *config->mutable_consistency()->mutable_sync();
  sync.set_trainers(std::max(sync.trainers(), options.trainer_count));
}

}  // namespace weir::tools
