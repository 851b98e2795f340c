#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lemnos::data {

/// What a file is that begins with these bytes and is no text of JSON lines, and what to do with it:
/// "gzip-compressed; unpack it: gunzip -k rows.jsonl.gz". Nothing when it may be text.
std::optional<std::string> why_not_text(std::string_view first_bytes, std::string_view file);

}  // namespace lemnos::data
