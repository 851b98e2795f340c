#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proof/source_file.h"

namespace lemnos::proof {

/// The sources that this binary was built from.
const std::vector<SourceFile>& source_table();
/// The same as the build's tool wrote it (cmake/source_table), a generated file.
const char* source_table_text();
std::vector<SourceFile> parse_source_table(std::string_view text);

/// What a training program is made of, as far as its sources go. Sizes, devices and batches are no
/// part of it: both kinds of kernels count, in every storage type.
struct ProgramParts {
  std::string family;            // model_type
  std::string stage;             // "base", "lora" or "optimizer"
  std::vector<std::string> ops;  // of its graphs: forward, backward, optimizer
};

/// The sources that decide the program's numbers, by path: what runs it (train/engine, graph,
/// runtime), the family's file, the files of its ops with the shaders that they name, and what all
/// these include. A header brings the .cpp files that implement it; those of ops come by the ops' names
/// alone, so that a header which is only mentioned brings no kernel. PEFT's sources count, all of them,
/// for the stages with an adapter; the family's do not for `optimizer`.
std::vector<const SourceFile*> closure(const std::vector<SourceFile>& table, const ProgramParts& program);

/// SHA-256 over the closure's paths and hashes.
std::string fingerprint(const std::vector<SourceFile>& table, const ProgramParts& program);

}  // namespace lemnos::proof
