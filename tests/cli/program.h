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

/// A running `lemnos <arguments>`, its output in two files of `folder`.
class Program {
 public:
  Program(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
          rlim_t largest_file = RLIM_INFINITY)
      : out_(folder / "stdout"), err_(folder / "stderr") {
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

  void send(int signal) const { ::kill(process_, signal); }
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
    ::dup2(::open(out_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), STDOUT_FILENO);
    ::dup2(::open(err_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  void keep(int status) {
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    process_ = 0;
  }

  std::filesystem::path out_, err_;
  pid_t process_ = 0;
  int code_ = -1;
};

}  // namespace lemnos::test
