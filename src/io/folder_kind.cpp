#include "io/folder_kind.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "io/hf_config.h"

namespace lemnos {
namespace {

namespace fs = std::filesystem;

bool has(const fs::path& folder, const char* file) {
  std::error_code unreadable;
  return fs::exists(folder / file, unreadable);
}

/// Folders below `folder`, at most `depth` levels down, that hold `file`; sorted.
std::vector<std::string> folders_with(const fs::path& folder, const char* file, int depth) {
  std::vector<std::string> found;
  std::error_code unreadable;
  for (fs::directory_iterator it(folder, unreadable), end; !unreadable && it != end; it.increment(unreadable)) {
    std::error_code unknown;
    if (!it->is_directory(unknown)) continue;
    if (has(it->path(), file)) found.push_back(it->path().string());
    if (depth <= 1) continue;
    for (std::string& deeper : folders_with(it->path(), file, depth - 1)) found.push_back(std::move(deeper));
  }
  // Shorter names first, so that checkpoint-20 comes before checkpoint-100.
  std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  return found;
}

std::string some_of(const std::vector<std::string>& paths) {
  constexpr size_t kShown = 4;
  std::string text;
  for (size_t i = 0; i < std::min(paths.size(), kShown); ++i) text += (i == 0 ? "" : ", ") + paths[i];
  if (paths.size() > kShown) text += format(" and {} more, the last {}", paths.size() - kShown, paths.back());
  return text;
}

/// "org/name": one slash with a name on both sides, nothing that only paths have.
bool looks_like_hub_name(const std::string& text) {
  const size_t slash = text.find('/');
  return slash != std::string::npos && slash > 0 && slash + 1 < text.size() && slash == text.rfind('/') &&
         text.front() != '.' && text.front() != '~';
}

[[noreturn]] void fail_missing(const fs::path& folder, const FolderKind& kind) {
  if (folder.string().starts_with("~"))
    fail(ErrorKind::io, "{}: there is no such folder; \"~\" is not expanded here, write the whole path", folder.string());
  if (looks_like_hub_name(folder.string()))
    fail(ErrorKind::io,
         "{0}: there is no such folder, and nothing is fetched from the Hub; download it first, e.g. `hf download {0} "
         "--local-dir {1}`, and give that folder",
         folder.string(), folder.filename().string());
  fail(ErrorKind::io, "{}: there is no such folder; expected {}", folder.string(), kind.noun);
}

[[noreturn]] void fail_file(const fs::path& file, const FolderKind& kind) {
  const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (has(parent, kind.file))
    fail(ErrorKind::io, "{} is a file; give its folder, {}", file.string(), parent.string());
  fail(ErrorKind::io, "{} is a file; expected {}", file.string(), kind.noun);
}

/// " of <base model>" where adapter_config.json names it.
std::string base_named_in(const fs::path& adapter) {
  try {
    const auto name = ConfigReader::open(adapter / kAdapterFolder.file).find_string("base_model_name_or_path");
    return name && !name->empty() ? " of " + *name : "";
  } catch (const Error&) {
    return "";
  }
}

/// What a folder that is not of the `wanted` kind holds, and what to do with it; empty when it cannot
/// be told.
std::string instead(const fs::path& folder, const FolderKind& wanted) {
  const std::string advice = std::string_view(wanted.file) != kModelFolder.file
                                 ? ""
                                 : "; give the base model, and to `lemnos generate` also the adapter with --adapter";
  if (has(folder, kReferenceFolder.file)) return "it is a bundle for `lemnos verify`; see its folders model and adapter";
  if (has(folder, kAdapterFolder.file)) return "it is a PEFT adapter" + base_named_in(folder) + advice;
  if (has(folder, kModelFolder.file)) return "it is a whole model";
  if (const auto adapters = folders_with(folder, kAdapterFolder.file, 2); !adapters.empty())
    return "there are PEFT adapters in " + some_of(adapters) + advice;
  return "";
}

}  // namespace

void require_folder(const fs::path& folder, const FolderKind& kind) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (status.type() == fs::file_type::not_found) fail_missing(folder, kind);
  if (error) fail_io("read", folder, error.value());
  if (!fs::is_directory(status)) fail_file(folder, kind);
  if (fs::exists(folder / kind.file, error)) return;
  if (error) fail_io("read", folder, error.value());
  std::string text = format("{} is not {} (it has no {})", folder.string(), kind.noun, kind.file);
  // Below: a run's checkpoints, a snapshot of the Hub's cache, one of many bundles.
  if (const auto below = folders_with(folder, kind.file, 2); !below.empty())
    text += "; there is one in " + some_of(below);
  else if (const std::string found = instead(folder, kind); !found.empty())
    text += "; " + found;
  fail(ErrorKind::io, "{}", text);
}

fs::path config_file(const fs::path& given) {
  std::error_code unknown;
  if (!fs::is_directory(given, unknown)) return given;
  require_folder(given, kModelFolder);
  return given / kModelFolder.file;
}

}  // namespace lemnos
