// weir-server: one shard of the parameters; shard 0 also coordinates the run.
#include <gflags/gflags.h>

#include <memory>

#include "common/base/check.h"
#include "common/base/heap.h"
#include "common/base/interrupt_target.h"
#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "common/config/load_config.h"
#include "common/config/validate_config.h"
#include "common/keys/key_folder.h"
#include "common/keys/run_keys.h"
#include "common/layout/message_bound.h"
#include "common/program/program.h"
#include "common/session/run_identity.h"
#include "common/transport/tcp_address.h"
#include "common/transport/zmq_transport.h"
#include "server/begin_with.h"
#include "server/reports_of.h"
#include "server/server.h"
#include "server/shard_reporter.h"

DEFINE_string(config, "", "config files, comma-separated; later ones overlay earlier ones");
DEFINE_string(override, "", "protobuf text merged over the config last");
DEFINE_string(servers, "",
              "advertised address of every shard, comma-separated; the same list everywhere");
DEFINE_int32(shard, -1, "which entry of --servers this process is");
DEFINE_string(warm_start, "", "folder of a saved model to go on from; the same on every server");
DEFINE_string(save, "",
              "folder to save the model in when the run is over, each server its own part: one "
              "that all servers reach; of all servers, or none");
DEFINE_string(checkpoints, "",
              "folder for the run's checkpoints (run.checkpoint_every_samples and the like), on "
              "storage that all servers and trainers reach; of all of them, or none");
DEFINE_string(resume, "",
              "folder of a checkpoint, or of several, to go on from, where the run was; the same "
              "for all servers and trainers. That of --checkpoints may be empty: the run begins");
DEFINE_string(data_dir, "",
              "folder of this server's own for the log of what it takes (cluster.durability); "
              "started again with it, the server goes on where it was");
DEFINE_string(keys, "",
              "folder of weir-keygen: this process's key, and the list of whom it speaks to; of "
              "all processes, or none. SIGHUP has the list read again");
DEFINE_bool(insecure, false,
            "without --keys, speak with other machines all the same: whoever reaches a port can "
            "take part in the run, read it and change it");
DEFINE_string(listen, "", "address to bind, if it is not the advertised one");

namespace weir::server {
namespace {

// Who has not said hello has little to say. A push that was queued when its connection broke may
// come before the new hello, and is cut where it is larger. Of empty parts each byte costs ZeroMQ
// 31.
constexpr int64_t kMaxStrangerBytes = int64_t{1} << 20;

// Belongs to the mistakes above it.
constexpr const char* kExample =
    "    for example: weir-server --config=run.textproto --servers=tcp://h0:7100,tcp://h1:7100 "
    "--shard=0";

struct Setup {
  v1::Config config;
  std::vector<std::string> addresses;
  std::string listen;
  keys::RunKeys keys;
};

Status ReadFlags(const Arguments& arguments, Setup* read) {
  std::vector<std::string> problems = UnexpectedArguments(arguments);
  Setup& setup = *read;
  setup.addresses = StrSplit(FLAGS_servers, ',');
  const auto count = std::ssize(setup.addresses);
  if (count == 0) {
    problems.push_back("--servers: list the address of every shard, the same list everywhere");
  }
  transport::CheckPeerListFlag("--servers", setup.addresses, &problems);
  const bool has_shard = !gflags::GetCommandLineFlagInfoOrDie("shard").is_default;
  if (!has_shard) {
    problems.push_back("--shard: say which entry of --servers this process is; the first is 0");
  } else if (FLAGS_shard < 0 || (count > 0 && FLAGS_shard >= count)) {
    problems.push_back(StrCat("--shard: ", FLAGS_shard, " is not an index into the ", count,
                              " entries of --servers"));
  }
  transport::CheckAddressFlag("--listen", FLAGS_listen, &problems);
  if (FLAGS_config.empty()) problems.push_back("--config: name at least one file");
  if (!FLAGS_resume.empty() && !FLAGS_warm_start.empty()) {
    problems.push_back("--resume, --warm_start: a run goes on from one of them");
  }
  auto config = config::LoadConfig(StrSplit(FLAGS_config, ','), FLAGS_override);
  if (!FLAGS_config.empty() && !config.ok()) problems.push_back(config.status().message());
  if (config.ok()) DataFolder::CheckFlag(FLAGS_data_dir, config->cluster(), &problems);
  if (config.ok() && FLAGS_checkpoints.empty() && config::HasCheckpoints(config->run())) {
    problems.emplace_back(config::kCheckpointsWantFolder);
  }
  keys::KeyFlags key_flags{FLAGS_keys, FLAGS_insecure, setup.addresses};
  key_flags.sockets.push_back(FLAGS_listen);
  key_flags.server_count = setup.addresses.size();
  const transport::PeerName name = keys::ServerName(static_cast<size_t>(FLAGS_shard));
  if (has_shard) setup.keys = keys::RunKeys::Read(key_flags, name, &problems);
  if (count == 0 || !has_shard || FLAGS_config.empty()) problems.emplace_back(kExample);
  if (!problems.empty()) return InvalidConfig(StrJoin(problems, "\n"));
  setup.config = *std::move(config);
  setup.listen =
      FLAGS_listen.empty() ? setup.addresses[static_cast<size_t>(FLAGS_shard)] : FLAGS_listen;
  return OkStatus();
}

// Serves until the run is over.
Status Serve(const Setup& setup, const transport::Limits& limits, Server* server) {
  WEIR_RETURN_IF_ERROR(server->PrepareSaving());
  WEIR_ASSIGN_OR_RETURN(const std::string bound, server->Bind(setup.listen));
  std::shared_ptr<ShardReporter> reporter;
  if (FLAGS_shard > 0) {
    reporter =
        StartReports(setup.config.cluster(), setup.addresses[0], FLAGS_shard,
                     transport::MakeZmqClientTransport(limits, setup.keys.security()), server);
    server->SetLastWords([reporter](const Status& why) { reporter->SayFailure(why); });
  }
  LOG(INFO) << "shard " << FLAGS_shard << " of " << setup.addresses.size() << " listens on "
            << bound;
  Status ran = server->Run();
  if (reporter && !ran.ok()) reporter->SayFailure(ran);
  if (reporter) reporter->Stop();            // before the server goes, which it calls
  if (!server->EndSaving()) EndAtOnce(ran);  // the disk keeps it waiting
  if (ran.ok()) return server->ClearLog();
  // What it reads may keep it waiting, and nothing is left half done.
  if (!ran.ok() && !server->is_loaded()) {
    if (server->saving() != nullptr) server->saving()->Discard();
    EndAtOnce(ran);
  }
  return ran;
}

Status OpenFolder(const Setup& setup, ServerOptions* options) {
  if (FLAGS_data_dir.empty()) return OkStatus();
  const auto identity = session::MakeRunIdentity(
      setup.config, static_cast<uint32_t>(setup.addresses.size()), options->warm_start);
  WEIR_ASSIGN_OR_RETURN(options->data_folder,
                        DataFolder::Open(FileSystem::Real(), FLAGS_data_dir, identity,
                                         static_cast<uint32_t>(FLAGS_shard)));
  return OkStatus();
}

// That will have the parameters of the model to go on from, if there is one.
Result<std::unique_ptr<Server>> MakeServer(const Setup& setup, const transport::Limits& limits) {
  ServerOptions options;
  options.addresses = setup.addresses;
  options.save = FLAGS_save;
  options.checkpoints = FLAGS_checkpoints;
  WEIR_RETURN_IF_ERROR(BeginWith(
      {FLAGS_warm_start, FLAGS_resume, FLAGS_checkpoints, FLAGS_data_dir}, setup.config, &options));
  WEIR_RETURN_IF_ERROR(OpenFolder(setup, &options));
  return std::make_unique<Server>(setup.config, static_cast<uint32_t>(setup.addresses.size()),
                                  static_cast<uint32_t>(FLAGS_shard),
                                  transport::MakeZmqServerTransport(limits, setup.keys.security()),
                                  std::move(options));
}

Status RunServer(const Setup& setup) {
  setup.keys.WarnIfInsecure();
  InterruptTarget interrupt, terminate, wish;
  const SignalWatcher signals({.on_signal = [&] { interrupt.Fire(); },
                               .on_terminate = [&] { terminate.Fire(); },
                               .on_user = [&] { wish.Fire(); },
                               .on_hangup = setup.keys.reader()});
  const auto server_count = static_cast<uint32_t>(setup.addresses.size());
  WEIR_RETURN_IF_ERROR(CheckMessageBound(setup.config, ModelLayout(setup.config, server_count)));
  transport::Limits limits;
  limits.max_message_bytes = setup.config.cluster().max_message_bytes();
  limits.max_stranger_bytes = kMaxStrangerBytes;
  std::unique_ptr<Server> server;
  {
    // A folder may keep it waiting, and nobody knows of this process yet.
    const InterruptScope scope(&interrupt, EndInterrupted), too(&terminate, EndInterrupted);
    WEIR_ASSIGN_OR_RETURN(server, MakeServer(setup, limits));
  }
  const InterruptScope scope(&interrupt, [&] { server->Stop(); });
  const InterruptScope on_terminate(&terminate, [&] { server->StopBehindCheckpoint(); });
  const InterruptScope on_wish(&wish, [&] { server->checkpoints().Want(); });
  return Serve(setup, limits, server.get());
}

}  // namespace
}  // namespace weir::server

int main(int argc, char** argv) {
  weir::KeepFreedMemory();
  weir::server::Setup setup;
  return weir::RunProgram(
      {.usage = "serves one shard of a Weir run; see README.md",
       .flags_in = "server/main",
       .short_of_memory = "the model; see its widths and tables in the config",
       .ends_with_its_reader = false,
       .check = [&](const auto& arguments) { return weir::server::ReadFlags(arguments, &setup); },
       .run = [&](const auto&) { return weir::server::RunServer(setup); }},
      argc, argv);
}
