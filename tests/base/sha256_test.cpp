#include "base/sha256.h"

#include <gtest/gtest.h>

namespace lemnos {
namespace {

/// FIPS 180-2, appendix B.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PartsAreToldApart) {
  Sha256 pieces;
  pieces.add("ab");
  pieces.add("c");
  EXPECT_EQ(pieces.hex(), sha256_hex("abc"));
  const auto of = [](std::string_view a, std::string_view b) {
    Sha256 sha;
    sha.add(a);
    sha.end_part();
    sha.add(b);
    return sha.hex();
  };
  EXPECT_NE(of("ab", "c"), of("a", "bc"));
}

}  // namespace
}  // namespace lemnos
