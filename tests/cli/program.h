#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/file.h"

namespace lemnos::test {

/// The built program: $LEMNOS_BINARY, else the one of this build.
inline std::string binary() {
  if (const char* chosen = std::getenv("LEMNOS_BINARY")) return chosen;
#ifdef LEMNOS_BINARY
  return LEMNOS_BINARY;
#else
  throw std::runtime_error("LEMNOS_BINARY names the program to test");
#endif
}

/// Descriptors that a program gets for its output instead of files; kClosed: none at all.
struct Streams {
  static constexpr int kFile = -1, kClosed = -2;
  int out = kFile, err = kFile;
};

/// A running `lemnos <arguments>`, its output in two files of `folder` unless `streams` says otherwise.
class Program {
 public:
  Program(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
          rlim_t largest_file = RLIM_INFINITY, Streams streams = {})
      : out_(folder / "stdout"), err_(folder / "stderr"), streams_(streams) {
    write_file_atomic(out_, "");
    write_file_atomic(err_, "");
    std::vector<std::string> words = {binary()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("fork");
    if (process_ == 0) become(argv, largest_file);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (process_ > 0) send(SIGKILL), wait();
  }

  void send(int signal) const {
    if (process_ > 0) ::kill(process_, signal);  // 0 would be the tests themselves
  }
  bool ended() {
    int status = 0;
    if (process_ > 0 && ::waitpid(process_, &status, WNOHANG) == process_) keep(status);
    return process_ == 0;
  }
  /// The exit code; 128 + the signal that ended it.
  int wait() {
    int status = 0;
    if (process_ > 0 && ::waitpid(process_, &status, 0) == process_) keep(status);
    return code_;
  }
  std::string out() const { return read_file(out_); }
  std::string err() const { return read_file(err_); }

 private:
  /// In the child; only what is safe after fork.
  [[noreturn]] void become(const std::vector<char*>& argv, rlim_t largest_file) const {
    const rlimit limit{largest_file, RLIM_INFINITY};
    if (largest_file != RLIM_INFINITY) ::setrlimit(RLIMIT_FSIZE, &limit);
    connect(STDOUT_FILENO, streams_.out, out_);
    connect(STDERR_FILENO, streams_.err, err_);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  static void connect(int stream, int given, const std::filesystem::path& file) {
    if (given == Streams::kClosed)
      ::close(stream);
    else
      ::dup2(given >= 0 ? given : ::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600), stream);
  }
  void keep(int status) {
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    process_ = 0;
  }

  std::filesystem::path out_, err_;
  Streams streams_;
  pid_t process_ = 0;
  int code_ = -1;
};

}  // namespace lemnos::test
