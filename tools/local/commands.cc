#include "tools/local/commands.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "tools/local/output_directory.h"

namespace weir::tools {
namespace {

ChildCommand MakeCommand(const LocalOptions& options, Role role, const std::string& program,
                         std::string name) {
  const OutputDirectory out(options.out_directory);
  ChildCommand command;
  command.role = role;
  command.log_path = out.LogPath(name);
  command.arguments = {StrCat(options.binary_directory, "/", program),
                       StrCat("--config=", out.ConfigPath())};
  command.name = std::move(name);
  return command;
}

void AddFolders(const LocalOptions& options, ChildCommand* command) {
  const auto add = [&](const char* flag, const std::string& folder) {
    if (!folder.empty()) command->arguments.push_back(StrCat(flag, folder));
  };
  add("--keys=", options.keys_directory);
  if (options.insecure) command->arguments.emplace_back("--insecure");
  add("--warm_start=", options.warm_start_directory);
  add("--resume=", options.resume_directory);
  add("--checkpoints=", options.checkpoint_directory);
}

ChildCommand ServerCommand(const LocalOptions& options, const std::string& servers, int shard) {
  ChildCommand command = MakeCommand(options, Role::kServer, "weir-server", ServerName(shard));
  command.arguments.push_back(StrCat("--servers=", servers));
  command.arguments.push_back(StrCat("--shard=", shard));
  if (!options.data_directory.empty()) {
    command.arguments.push_back(StrCat("--data_dir=", ServerDataDirectory(options, shard)));
  }
  AddFolders(options, &command);
  return command;
}

// stage: of several; else 0.
ChildCommand WorkerCommand(const LocalOptions& options, const std::string& servers,
                           const std::string& residuals_folder, int trainer, int stage) {
  ChildCommand command =
      MakeCommand(options, Role::kWorker, "weir-worker", WorkerName(trainer, stage));
  if (!servers.empty()) command.arguments.push_back(StrCat("--servers=", servers));
  command.arguments.push_back(StrCat("--trainer=", trainer));
  command.arguments.push_back(StrCat("--threads=", options.thread_count));
  const std::string device = DeviceOf(options, trainer);
  command.arguments.push_back(StrCat("--device=", device));
  if (device != "cpu" && !options.device_memory.empty()) {
    command.arguments.push_back(StrCat("--device_memory=", options.device_memory));
  }
  if (options.stage_count > 1) {
    command.arguments.push_back(StrCat("--stage=", stage));
    // An address of its own on the loopback, so that traffic of each link can be told apart.
    command.arguments.push_back(StrCat("--link=tcp://127.0.0.", stage + 1, ":0"));
  }
  AddFolders(options, &command);
  if (!residuals_folder.empty()) {
    command.arguments.push_back(StrCat("--save_residuals=", residuals_folder));
  }
  if (stage > 0) return command;  // the first one reports for all
  command.arguments.push_back(
      StrCat("--out=", OutputDirectory(options.out_directory).TrainerPath(trainer)));
  if (trainer == 0 && !options.save_directory.empty()) {
    command.arguments.push_back(StrCat("--save=", options.save_directory));
    command.must_end_well = true;
  }
  return command;
}

std::string Plural(int count, const char* noun) {
  return StrCat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace

std::string ServerName(int shard) { return StrCat("server-", shard); }

std::string WorkerName(int trainer, int stage) {
  const std::string name = StrCat("trainer-", trainer);
  return stage == 0 ? name : StrCat(name, "-stage-", stage);
}

std::string ServerDataDirectory(const LocalOptions& options, int shard) {
  return StrCat(options.data_directory, "/", ServerName(shard));
}

std::vector<ChildCommand> RunCommands(const LocalOptions& options,
                                      const std::vector<std::string>& addresses,
                                      const std::string& residuals_folder) {
  CHECK_EQ(addresses.size(), static_cast<size_t>(options.server_count));
  const std::string servers = StrJoin(addresses, ",");
  std::vector<ChildCommand> commands;
  commands.reserve(addresses.size() + static_cast<size_t>(options.trainer_count));
  for (int shard = 0; shard < options.server_count; ++shard) {
    commands.push_back(ServerCommand(options, servers, shard));
  }
  for (int trainer = 0; trainer < options.trainer_count; ++trainer) {
    for (int stage = 0; stage < options.stage_count; ++stage) {
      commands.push_back(WorkerCommand(options, servers, residuals_folder, trainer, stage));
    }
  }
  return commands;
}

std::string CountText(const LocalOptions& options) {
  if (IsEmbedded(options)) return "1 worker, embedded";
  const std::string stages =
      options.stage_count > 1 ? StrCat(" of ", options.stage_count, " stages") : "";
  return StrCat(Plural(options.server_count, "server"), ", ",
                Plural(options.trainer_count, "trainer"), stages);
}

}  // namespace weir::tools
