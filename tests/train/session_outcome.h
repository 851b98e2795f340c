#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "base/error.h"
#include "support/toy_run.h"

namespace lemnos::train {

namespace fs = std::filesystem;

inline std::string bytes(const fs::path& file) { return read_file(file); }

/// The run ends in this error.
inline void expect_error(ErrorKind kind, std::initializer_list<std::string> parts, const TrainConfig& config) {
  try {
    run(config);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in: " << error.what();
  }
}

}  // namespace lemnos::train
