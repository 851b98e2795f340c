#include "io/atomic_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "io/completion_marker.h"
#include "io/file.h"
#include "io/safetensors.h"

namespace lemnos {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStageInfix = ".tmp-";
constexpr std::string_view kReplacedInfix = ".old-";

fs::path sibling(const fs::path& final_dir, std::string_view infix, int number) {
  return parent_folder(final_dir) /
         format("{}{}{}-{}", final_dir.filename().string(), infix, ::getpid(), number);
}

/// The exclusive lock of a folder, which the system drops when its process dies; -1 when another
/// process holds it or the folder is gone.
int lock_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  struct stat locked = {}, named = {};
  const bool ours = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 &&
                    ::fstat(descriptor, &locked) == 0 && ::stat(folder.c_str(), &named) == 0 &&
                    locked.st_ino == named.st_ino;
  if (ours) return descriptor;
  ::close(descriptor);
  return -1;
}

void remove_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) fail_io("remove", folder, error.value());
}

void rename_folder(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail_io("rename a folder to", to, errno);
}

void refuse_foreign_folder(const fs::path& final_dir) {
  if (!fs::exists(final_dir)) return;
  const bool replaceable = fs::is_directory(final_dir) &&
                           (fs::is_empty(final_dir) || fs::exists(final_dir / kMarkerName));
  if (!replaceable)
    fail(ErrorKind::io,
         "{}: is there already and was not written by this program (it has no {}); it is not "
         "replaced, "
         "choose another folder or remove it",
         final_dir.string(), kMarkerName);
}

void sync_tree(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    sync_path(entry.path());
  sync_path(folder);
}

void check_safetensors(const fs::path& folder, const std::vector<FileRecord>& files) {
  for (const FileRecord& file : files)
    if (file.name.ends_with(".safetensors")) SafetensorsFile::open(folder / file.name);
}

/// The siblings of `final_dir` named by us with this infix.
std::vector<fs::path> siblings(const fs::path& final_dir, std::string_view infix) {
  std::vector<fs::path> found;
  const std::string start = final_dir.filename().string() + std::string(infix);
  if (!fs::is_directory(parent_folder(final_dir))) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent_folder(final_dir))) {
    const std::string name = entry.path().filename().string();
    const bool numbered = name.find_first_not_of("0123456789-", start.size()) == std::string::npos;
    if (name.starts_with(start) && name.size() > start.size() && numbered && entry.is_directory())
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

fs::path without_trailing_slash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

/// A replacement that stopped between its two renames is undone: the old folder is what there was.
std::vector<fs::path> recover(const fs::path& final_dir) {
  std::vector<fs::path> changed;
  for (const fs::path& replaced : siblings(final_dir, kReplacedInfix)) {
    if (fs::exists(final_dir))
      remove_folder(replaced);
    else
      rename_folder(replaced, final_dir);
    changed.push_back(replaced);
  }
  for (const fs::path& stage : siblings(final_dir, kStageInfix)) {
    const int lock = lock_folder(stage);
    if (lock < 0) continue;
    remove_folder(stage);
    ::close(lock);
    changed.push_back(stage);
  }
  return changed;
}

}  // namespace

AtomicDir::AtomicDir(const fs::path& final_dir, Options options)
    : final_(without_trailing_slash(final_dir)), options_(std::move(options)) {
  std::error_code error;
  fs::create_directories(parent_folder(final_), error);
  if (error) fail_io("create", parent_folder(final_), error.value());
  recover_atomic_dir(final_);
  with_io_errors([&] { refuse_foreign_folder(final_); });
  for (int number = 0; lock_ < 0; ++number) {
    stage_ = sibling(final_, kStageInfix, number);
    if (::mkdir(stage_.c_str(), 0777) == 0)
      lock_ = lock_folder(stage_);
    else if (errno != EEXIST)
      fail_io("create", stage_, errno);
  }
}

AtomicDir::~AtomicDir() {
  std::error_code ignored;  // a destructor cannot report; the next run clears what is left
  if (!stage_.empty()) fs::remove_all(stage_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void AtomicDir::step(std::string_view name) const {
  if (options_.on_step) options_.on_step(name);
}

void AtomicDir::commit() {
  LEMNOS_CHECK(!stage_.empty(), "committed twice");
  with_io_errors([&] {
    prepare();
    publish();
  });
  stage_.clear();
}

void AtomicDir::prepare() {
  const std::vector<FileRecord> files = record_files(stage_);
  step("sync files");
  sync_tree(stage_);
  step("verify");
  if (record_files_from_device(stage_) != files)
    fail(ErrorKind::io, "{}: reads back other bytes than were written; check the disk",
         stage_.string());
  check_safetensors(stage_, files);
  step("write marker");
  write_marker(stage_, files);
  sync_path(stage_);
}

void AtomicDir::publish() {
  step("rename");
  const bool replaces = fs::exists(final_);
  if (!replaces)
    rename_folder(stage_, final_);
  else if (!exchanged_with_final())
    return replace_in_two_renames();
  step("sync parent");
  sync_path(parent_folder(final_));
  if (!replaces) return;
  step("remove replaced");
  remove_folder(stage_);  // the old folder has that name now
}

/// False where the file system cannot exchange two names in one step.
bool AtomicDir::exchanged_with_final() const {
  if (!options_.exchange_names) return false;
  if (::renameat2(AT_FDCWD, stage_.c_str(), AT_FDCWD, final_.c_str(), RENAME_EXCHANGE) == 0)
    return true;
  if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return false;
  fail_io("replace", final_, errno);
}

void AtomicDir::replace_in_two_renames() {
  const fs::path replaced = sibling(final_, kReplacedInfix, 0);
  rename_folder(final_, replaced);
  try {
    step("between renames");
    rename_folder(stage_, final_);
  } catch (...) {
    rename_folder(replaced, final_);
    throw;
  }
  step("sync parent");
  sync_path(parent_folder(final_));
  step("remove replaced");
  remove_folder(replaced);
}

bool is_complete(const fs::path& folder) {
  try {
    if (!fs::exists(folder / kMarkerName)) return false;
    for (const FileRecord& file : read_marker(folder)) {
      const fs::path path = folder / file.name;
      if (!fs::is_regular_file(path) || fs::file_size(path) != file.bytes) return false;
    }
  } catch (const Error&) {
    return false;
  } catch (const fs::filesystem_error&) {
    return false;
  }
  return true;
}

void verify_complete(const fs::path& folder) {
  for (const FileRecord& file : read_marker(folder)) {
    const fs::path path = folder / file.name;
    if (!fs::is_regular_file(path))
      fail(ErrorKind::corrupt_input, "{}: was saved with this folder and is missing",
           path.string());
    if (fs::file_size(path) != file.bytes)
      fail(ErrorKind::corrupt_input, "{}: {} bytes, saved with {}", path.string(),
           fs::file_size(path), file.bytes);
    if (file_checksum(path) != file.checksum)
      fail(ErrorKind::corrupt_input, "{}: its content is not what was saved (checksum)",
           path.string());
  }
}

std::vector<fs::path> recover_atomic_dir(const fs::path& final_dir) {
  return with_io_errors([&] { return recover(without_trailing_slash(final_dir)); });
}

}  // namespace lemnos
