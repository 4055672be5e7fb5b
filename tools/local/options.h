// What weir-local was asked to do, as its flags say it, and the rules these must obey.
//
// The flags only say who runs and where; what affects results is in the config files. Everything
// that can be wrong is found before a process is started, and all of it is told at once.
//
// Thread rule: values; any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/device/device_name.h"
#include "common/proto/config.pb.h"

namespace weir::tools {

struct LocalOptions {
  // An ordered overlay: later files win.
  std::vector<std::string> config_files;
  // Protobuf text merged after the last file; may be empty.
  std::string override_text;
  // 0: one worker trains embedded, without servers.
  int server_count = 2;
  int trainer_count = 2;
  int stage_count = 1;
  // Hogwild threads of each worker.
  int thread_count = 1;
  // Where trainers compute: all of them, the CPU if not given; or one for each.
  std::optional<std::string> device;
  std::vector<std::string> devices;
  std::string device_memory;  // of cards; as weir-worker has it
  std::string out_directory;
  // Of the model: to save it in, and to go on from. Empty: neither.
  std::string save_directory;
  std::string warm_start_directory;
  // Each server has a folder of its own in it for its log (commands.h); empty: none has.
  std::string data_directory;
  // With a key for each process, made there for who has none; empty: none has any, and insecure.
  std::string keys_directory;
  bool insecure = false;
  // Of the run's checkpoints, and to go on from (checkpoint_options.h). Empty: neither.
  std::string checkpoint_directory;
  std::string resume_directory;
  // A process that a signal has ended is started again, so often at most (failure_judge.h).
  int most_restarts = 0;
  std::string kill_after;  // which are killed on purpose, as KillPlan reads it
  // Where weir-server and weir-worker are.
  std::string binary_directory;
  // Server i listens on base_port + i; 0 takes free ports.
  int base_port = 0;
};

// Where results go when nobody says: "out/adult-dct_99" of adult.textproto and dct_99.textproto.
std::string DefaultOut(const std::vector<std::string>& config_files);

inline bool IsEmbedded(const LocalOptions& options) { return options.server_count == 0; }

// Of sound options.
std::string DeviceOf(const LocalOptions& options, int trainer);

// Every rule that `options` breaks, each with the flag's name and what it should be. Looks at the
// file system for the binaries and the folders; does not read config files. check: whether
// a device can be had, as its trainers would say (gpu/open_device.h); empty: nobody looks.
using DeviceCheck = std::function<Status(const device::DeviceName&)>;
std::vector<std::string> OptionMistakes(const LocalOptions& options, const DeviceCheck& check = {});

// Of a config that is sound for some run: what makes it none for this one.
std::vector<std::string> RunMistakes(const LocalOptions& options, const v1::Config& config);

// Of a run in rounds: the first one waits for all that are started.
void AwaitTrainers(const LocalOptions& options, v1::Config* config);

}  // namespace weir::tools
