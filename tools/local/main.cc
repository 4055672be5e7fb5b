// weir-local: all processes of a run on this machine.
//
//   weir-local --config=a.textproto,b.textproto --servers=2 --trainers=2 --out=DIR
//
// Checks flags and config, starts the servers and the workers, shows how far they are, and gathers
// their results in DIR. Exit codes: 0 done, 1 failed while running, 2 wrong flags or config,
// 130 interrupted.

#include <gflags/gflags.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "common/config/load_config.h"
#include "common/program/program.h"
#include "gpu/open_device.h"
#include "tools/local/checkpoint_options.h"
#include "tools/local/local_run.h"
#include "tools/local/options.h"
#include "worker/data/train_rows.h"

DEFINE_string(config, "", "config files, overlaid in order: a.textproto,b.textproto");
DEFINE_string(override, "", "protobuf text laid over the config files, last");
DEFINE_int32(servers, 2, "server processes; 0 trains embedded, in one worker");
DEFINE_int32(trainers, 2, "trainers; --stages worker processes each");
DEFINE_int32(stages, 1,
             "worker processes of a trainer, one for each stage of pipeline.split; 1: all in one");
DEFINE_int32(threads, 1, "Hogwild threads of each worker");
DEFINE_string(device, "cpu", "where trainers compute: cpu, or a card: cuda:0");
DEFINE_string(devices, "", "instead of --device: one for each trainer, comma-separated");
DEFINE_string(device_memory, "",
              "of cards, how much each worker process may use: 24GiB; not given: what is free");
DEFINE_string(out, "",
              "directory for logs and results; made if it is not there; out/<names of the configs> "
              "if not given");
DEFINE_string(save, "", "folder to save the trained model in");
DEFINE_string(warm_start, "", "folder of a saved model to go on from");
DEFINE_string(
    data_dir, "",
    "folder for the logs of the servers (cluster.durability), one in it for each: started "
    "again, they go on where they were");
DEFINE_string(checkpoints, "",
              "folder for the run's checkpoints; <out>/checkpoints if not given and the config has "
              "them (run.checkpoint_every_samples, run.checkpoint_every_ms)");
DEFINE_string(
    resume, "",
    "folder of a checkpoint, or of several, to go on from, where the run was; not given: a "
    "run that has left checkpoints where this one has its own, and has not ended, goes on");
DEFINE_int32(restart, 0,
             "start a process that a signal has ended again, so often at most; a server only with "
             "--data_dir");
DEFINE_string(kill_after, "",
              "to try what happens: server-1:3000,trainer-0:5000 kills each so many milliseconds "
              "after the start");
DEFINE_string(keys, "",
              "folder with a key for each process, as weir-keygen makes them; who has none gets "
              "one. Connections are encrypted, and each process proves who it is; <out>/keys if "
              "not given");
DEFINE_bool(insecure, false,
            "without keys: faster where everything is sent, and whoever may use this machine can "
            "take part in the run, read it and change it");
DEFINE_string(binaries, "", "where weir-server and weir-worker are; default beside this program");
DEFINE_int32(base_port, 0, "server i listens on base_port + i; 0 takes free ports");

namespace weir::tools {
namespace {

constexpr const char* kUsage =
    "all processes of a run on this machine\n"
    "  weir-local --config=a.textproto,b.textproto --servers=2 --trainers=2 --threads=1 --out=DIR\n"
    "What affects results is in the config files; --override lays protobuf text over them.";

std::string OwnDirectory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

void TakeKeyFlags(LocalOptions* options) {
  const bool makes_keys = FLAGS_keys.empty() && !FLAGS_insecure && !IsEmbedded(*options);
  options->keys_directory = makes_keys ? options->out_directory + "/keys" : FLAGS_keys;
  options->insecure = FLAGS_insecure;
}

LocalOptions OptionsFromFlags() {
  LocalOptions options;
  options.config_files = StrSplit(FLAGS_config, ',');
  options.override_text = FLAGS_override;
  options.server_count = FLAGS_servers;
  options.trainer_count = FLAGS_trainers;
  options.stage_count = FLAGS_stages;
  options.thread_count = FLAGS_threads;
  if (!gflags::GetCommandLineFlagInfoOrDie("device").is_default) options.device = FLAGS_device;
  options.devices = StrSplit(FLAGS_devices, ',');
  options.device_memory = FLAGS_device_memory;
  options.out_directory = FLAGS_out.empty() ? DefaultOut(options.config_files) : FLAGS_out;
  options.save_directory = FLAGS_save;
  options.warm_start_directory = FLAGS_warm_start;
  options.data_directory = FLAGS_data_dir;
  TakeKeyFlags(&options);
  options.checkpoint_directory = FLAGS_checkpoints;
  options.resume_directory = FLAGS_resume;
  options.most_restarts = FLAGS_restart;
  options.kill_after = FLAGS_kill_after;
  options.binary_directory = FLAGS_binaries.empty() ? OwnDirectory() : FLAGS_binaries;
  options.base_port = FLAGS_base_port;
  return options;
}

Result<v1::Config> Load(const LocalOptions& options, bool counts_rows) {
  const SignalWatcher signals(EndInterrupted);  // counting rows may take long
  const auto count_rows = [&](const v1::Config& config) {
    const bool is_for_nothing = !counts_rows || !RunMistakes(options, config).empty();
    return is_for_nothing ? v1::Config() : data::FindTrainRows(config);
  };
  Result<v1::Config> config =
      config::LoadConfig(options.config_files, options.override_text, count_rows);
  if (config.ok()) AwaitTrainers(options, &*config);
  return config;
}

std::vector<std::string> FlagMistakes(const Arguments& arguments, const LocalOptions& options) {
  std::vector<std::string> mistakes = OptionMistakes(options, gpu::CheckDevice);
  for (const std::string& argument : arguments) {
    mistakes.push_back(StrCat("\"", argument, "\": only flags are understood, as in --out=DIR"));
  }
  return mistakes;
}

// Everything that can be wrong before a process starts. The config is meaningful without mistakes.
Status Check(const Arguments& arguments, const LocalOptions& options, v1::Config* resolved) {
  std::vector<std::string> mistakes = FlagMistakes(arguments, options);
  if (!options.config_files.empty()) {
    Result<v1::Config> config = Load(options, mistakes.empty());
    std::ranges::move(
        config.ok() ? RunMistakes(options, *config) : StrSplit(config.status().message(), '\n'),
        std::back_inserter(mistakes));
    if (config.ok()) *resolved = *std::move(config);
  }
  return mistakes.empty() ? OkStatus() : InvalidConfig(StrJoin(mistakes, "\n"));
}

}  // namespace
}  // namespace weir::tools

int main(int argc, char** argv) {
  weir::tools::LocalOptions options;
  weir::v1::Config config;
  return weir::RunProgram(
      {.usage = weir::tools::kUsage,
       .flags_in = "local/main",
       .short_of_memory = "this program",
       .ends_with_its_reader = false,
       .check =
           [&](const auto& arguments) {
             options = weir::tools::OptionsFromFlags();
             auto checked = weir::tools::Check(arguments, options, &config);
             if (checked.ok()) weir::tools::FindCheckpoints(config, &options);
             return checked;
           },
       .run = [&](const auto&) { return weir::tools::RunLocally(options, config); }},
      argc, argv);
}
