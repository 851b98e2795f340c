#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lemnos {

/// A folder that appears whole or not at all. Files are written into `stage()`, a sibling of the
/// final folder; `commit` makes everything durable, checks it by reading it back, writes the marker
/// last and renames. A crash at any moment leaves the old state or the new one. Without `commit`,
/// or when it throws, the stage is removed and nothing else was touched. See docs/formats.md.
class AtomicDir {
 public:
  struct Options {
    /// Called with the name of each step of `commit` before it happens; for tests.
    std::function<void(std::string_view step)> on_step = {};
    /// False: as on file systems that cannot exchange two names at once (NFS, say).
    bool exchange_names = true;
  };

  /// Creates the stage (and the parent folders). What dead runs left beside `final_dir` is cleared
  /// first. An existing `final_dir` is refused unless it is empty or was itself committed by us.
  explicit AtomicDir(const std::filesystem::path& final_dir) : AtomicDir(final_dir, Options()) {}
  AtomicDir(const std::filesystem::path& final_dir, Options options);
  AtomicDir(const AtomicDir&) = delete;
  AtomicDir& operator=(const AtomicDir&) = delete;
  ~AtomicDir();

  const std::filesystem::path& stage() const { return stage_; }
  /// Once. On return the final folder is complete and durable, and the old one is gone.
  void commit();

 private:
  void step(std::string_view name) const;
  void prepare();
  void publish();
  bool exchanged_with_final() const;
  void replace_in_two_renames();

  std::filesystem::path final_;
  std::filesystem::path stage_;
  Options options_;
  int lock_ = -1;
};

/// Whether `folder` was committed and each file its marker lists is there with its size.
bool is_complete(const std::filesystem::path& folder);

/// Reads every file the marker lists; Error{corrupt_input} names the first that is not as written.
void verify_complete(const std::filesystem::path& folder);

/// Removes stages of `final_dir` whose run is dead, and finishes or undoes a replacement that it
/// left half way. Returns the folders removed or renamed back. Call it before looking for
/// `final_dir`.
std::vector<std::filesystem::path> recover_atomic_dir(const std::filesystem::path& final_dir);

}  // namespace lemnos
