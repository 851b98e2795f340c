#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proof/sources.h"

namespace lemnos::proof {

/// One file of qualification/ (docs/formats.md): what a surface, a stage and a device gave.
struct Record {
  std::string file;  // "qualification/lavapipe/llama.base.json"
  std::string surface, family, stage, device, device_name, driver;
  std::vector<std::string> features, ops;  // sorted
  std::string sources;                     // fingerprint of the sources it was made from
  bool green = false;
  std::optional<double> worst, oracle_noise;
  bool current = false;  // made from the sources that this binary was built from
};

struct Records {
  std::vector<Record> all;
  std::vector<std::string> problems;  // records that cannot be read, and why
};

/// A record's text; Error{corrupt_input} naming `file` and the field. `table`: what is current.
Record read_record(std::string_view text, const std::string& file, const std::vector<SourceFile>& table);

/// Those embedded in this binary, read once. One that cannot be read proves nothing.
const Records& embedded_records();

/// As the build found them.
struct RecordText {
  const char* file;
  std::string_view text;
};
std::vector<RecordText> record_texts();

}  // namespace lemnos::proof
