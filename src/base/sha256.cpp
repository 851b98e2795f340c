#include "base/sha256.h"

#include <sha2.h>

namespace lemnos {

struct Sha256::Context {
  SHA2_CTX state;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) { SHA256Init(&context_->state); }
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  SHA256Update(&context_->state, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::string Sha256::hex() {
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256Final(digest, &context_->state);
  std::string text;
  for (const uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view text) {
  Sha256 sha;
  sha.add(text);
  return sha.hex();
}

}  // namespace lemnos
