#include "tools/local/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/strings.h"

namespace weir::tools {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~FileDescriptor() { Close(); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }
  void Close() {
    if (valid()) close(std::exchange(descriptor_, -1));
  }

 private:
  int descriptor_;
};

// What the child needs between fork and exec, where it must not allocate.
struct ChildSetup {
  std::vector<char*> arguments;
  pid_t parent;
  int input;
  int log;
  int error_pipe;
};

void RestoreSignals() {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD}) {
    signal(signal_number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the child; async-signal-safe calls only.
[[noreturn]] void BecomeProgram(const ChildSetup& setup) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above; then nobody would send that signal.
  if (getppid() != setup.parent) _exit(1);
  RestoreSignals();
  dup2(setup.input, STDIN_FILENO);
  dup2(setup.log, STDOUT_FILENO);
  dup2(setup.log, STDERR_FILENO);
  execv(setup.arguments[0], setup.arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(setup.error_pipe, &error, sizeof(error));
  _exit(127);
}

std::vector<char*> ArgumentPointers(std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The errno of a failed exec; 0 when the pipe closed without a word, because exec worked.
int ReadExecError(int pipe_end) {
  int error = 0;
  ssize_t length;
  do {
    length = read(pipe_end, &error, sizeof(error));
  } while (length < 0 && errno == EINTR);
  return length == sizeof(error) ? error : 0;
}

pid_t WaitFor(pid_t pid, int* wait_status) {
  pid_t waited;
  do {
    waited = waitpid(pid, wait_status, 0);
  } while (waited < 0 && errno == EINTR);
  return waited;
}

// how: O_TRUNC or nothing.
Result<FileDescriptor> OpenLog(const std::string& path, int how) {
  FileDescriptor log(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | how, 0644));
  if (log.valid()) return log;
  return NotFound(StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

// Returns once the program runs.
Result<pid_t> Launch(const ChildCommand& command, int log_descriptor) {
  const FileDescriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return ResourceExhausted(StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  std::vector<std::string> arguments = command.arguments;
  const ChildSetup setup = {ArgumentPointers(arguments), getpid(), input.get(), log_descriptor,
                            write_end.get()};
  const pid_t pid = fork();
  if (pid < 0) {
    return ResourceExhausted(StrCat("cannot start ", command.name, ": ", std::strerror(errno)));
  }
  if (pid == 0) BecomeProgram(setup);
  write_end.Close();
  if (const int error = ReadExecError(read_end.get()); error != 0) {
    WaitFor(pid, nullptr);
    return NotFound(StrCat("cannot start ", command.name, ": cannot run ", command.arguments[0],
                           ": ", std::strerror(error)));
  }
  return pid;
}

}  // namespace

std::string ToString(const ChildExit& exit) {
  if (exit.signal_number == 0) return StrCat("exited with code ", exit.exit_code);
  return StrCat("was killed by signal ", exit.signal_number, " (", strsignal(exit.signal_number),
                ")");
}

Result<ChildProcess> ChildProcess::Start(ChildCommand command) {
  CHECK(!command.arguments.empty());
  WEIR_ASSIGN_OR_RETURN(const FileDescriptor log, OpenLog(command.log_path, O_TRUNC));
  WEIR_ASSIGN_OR_RETURN(const pid_t pid, Launch(command, log.get()));
  return ChildProcess(std::move(command), pid);
}

Status ChildProcess::StartAgain() {
  CHECK(!running());
  WEIR_ASSIGN_OR_RETURN(const FileDescriptor log, OpenLog(command_.log_path, 0));
  WEIR_ASSIGN_OR_RETURN(pid_, Launch(command_, log.get()));
  return OkStatus();
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : command_(std::move(other.command_)), pid_(std::exchange(other.pid_, 0)) {}

ChildProcess::~ChildProcess() {
  if (!running()) return;
  Signal(SIGKILL);
  WaitFor(pid_, nullptr);
}

void ChildProcess::Signal(int signal_number) const {
  if (running()) kill(-pid_, signal_number);
}

std::optional<ChildExit> ChildProcess::Poll() {
  if (!running()) return std::nullopt;
  siginfo_t info = {};
  const int waited = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (waited != 0 || info.si_pid == 0) return std::nullopt;
  // Before the process is reaped: until then its group's number cannot belong to anyone else.
  Signal(SIGKILL);
  int wait_status = 0;
  PCHECK(WaitFor(pid_, &wait_status) == pid_);
  pid_ = 0;
  if (WIFSIGNALED(wait_status)) return ChildExit{.signal_number = WTERMSIG(wait_status)};
  return ChildExit{.exit_code = WEXITSTATUS(wait_status)};
}

}  // namespace weir::tools
