// A model file made by a stranger: reading it, its tokenizer and its FIM tokens gives an error or
// works. First byte even: the rest is the file. Odd: the rest spoils a valid file, seven bytes a
// time (kind, place, value), so that what lies behind the magic is reached at once.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/fim.h"
#include "engine/gguf.h"
#include "engine/tokenizer.h"
#include "tests/support/gguf_builder.h"

namespace {

using namespace foretoken;

const std::string& valid_file() {
  static const std::string kBytes = [] {
    test::GgufBuilder b = test::tiny_llama();
    for (auto& tensor : b.tensors) {  // small: the header is what counts
      tensor.dims = {8, 2};
      tensor.data.resize(64);
    }
    return b.bytes();
  }();
  return kBytes;
}

std::string spoilt(const uint8_t* data, size_t size) {
  std::string bytes = valid_file();
  for (; size >= 7; data += 7, size -= 7) {
    uint16_t place;
    uint32_t value;
    std::memcpy(&place, data + 1, 2);
    std::memcpy(&value, data + 3, 4);
    const size_t at = place % bytes.size();
    switch (data[0] % 6) {
      case 0:
        bytes[at] = static_cast<char>(value);
        break;
      case 1:
        bytes.replace(at, std::min<size_t>(4, bytes.size() - at), test::raw(value));
        break;
      case 2: {
        const uint64_t wide = value % 2 ? ~uint64_t(value) : uint64_t(value) << (value % 64);
        bytes.replace(at, std::min<size_t>(8, bytes.size() - at), test::raw(wide));
        break;
      }
      case 3:
        bytes.erase(at, value % 64);
        break;
      case 4:
        bytes.insert(at, std::string(value % 64, static_cast<char>(value >> 8)));
        break;
      case 5:
        bytes.insert(at, bytes.substr(value % bytes.size(), value >> 24));
        break;
    }
    if (bytes.size() < 16) bytes.resize(16);
  }
  return bytes;
}

/// A file in memory, written anew for each input.
const std::string& write_file(std::string_view bytes) {
  static const int kFile = memfd_create("model", MFD_CLOEXEC);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  if (ftruncate(kFile, 0) != 0 || pwrite(kFile, bytes.data(), bytes.size(), 0) < 0) std::abort();
  return kPath;
}

void require(bool held) {
  if (!held) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes = data[0] % 2 == 0
                                ? std::string(reinterpret_cast<const char*>(data) + 1, size - 1)
                                : spoilt(data + 1, size - 1);
  try {
    const engine::GgufFile file(write_file(bytes));
    for (const engine::GgufTensor& tensor : file.tensors()) {
      std::string weights(std::min<uint64_t>(tensor.bytes, 4096), '\0');
      file.read(tensor, 0, std::as_writable_bytes(std::span(weights)));
      require(tensor.offset + tensor.bytes <= bytes.size() || tensor.bytes == 0);
      require(file.tensor(tensor.name) == &tensor);
    }
    for (const std::string_view key : file.keys()) require(file.find(key) != nullptr);
    const engine::Tokenizer tokenizer(file);
    const engine::Fim fim = engine::detect_fim(file, tokenizer);
    for (const engine::TokenId stop : fim.stops) require(stop >= 0 && stop < tokenizer.size());
    const std::string text = "def f(x):\n    return \"é\" if x else 10\t<|fim_prefix|>";
    std::string kept = tokenizer.decode(tokenizer.encode(text));
    require(kept.size() <= text.size());
    tokenizer.compatible("re");
  } catch (const engine::ModelError& error) {
    for (const char* c = error.what(); *c != '\0'; ++c) {
      require(static_cast<unsigned char>(*c) >= 0x20 && *c != 0x7F);
    }
  }
  return 0;
}
