#pragma once

#include <filesystem>

namespace lemnos {

/// What a folder that a user names is meant to be: the file that makes it one, and its name in
/// messages.
struct FolderKind {
  const char* file;
  const char* noun;
};
inline constexpr FolderKind kModelFolder{"config.json", "a model folder in Hugging Face layout"};
inline constexpr FolderKind kAdapterFolder{"adapter_config.json", "a PEFT adapter folder"};
inline constexpr FolderKind kReferenceFolder{"reference.json", "a folder of a reference bundle"};

/// Error{io} unless `folder` is of this kind; the message says what it is instead and, where that can
/// be told, which path to give.
void require_folder(const std::filesystem::path& folder, const FolderKind& kind);

/// `given`, or the config.json in it when it is a folder; errors as `require_folder`.
std::filesystem::path config_file(const std::filesystem::path& given);

}  // namespace lemnos
