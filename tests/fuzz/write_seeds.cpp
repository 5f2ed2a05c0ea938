// Writes the inputs the fuzzers start from: write_seeds FOLDER makes FOLDER/gguf and
// FOLDER/tokenizer.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/support/gguf_builder.h"

namespace fs = std::filesystem;
using foretoken::test::GgufBuilder;
using foretoken::test::raw;

namespace {

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void write_gguf_seeds(const fs::path& folder) {
  GgufBuilder empty, values, tensors, spelt;
  values.set_u32("u32", 1).set_f32("f32", 1).set_bool("bool", true).set_string("s", "text");
  values.set_strings("strings", {"a", "b"}).set_i32s("numbers", {1, -1}).set("u64", 10, raw(~0ull));
  tensors.alignment = 8;
  tensors.set_u32("general.alignment", 8).add_tensor("a", {3}, 0, std::string(12, 'x'));
  tensors.add_tensor("b", {32, 2}, 8, std::string(68, 'y')).add_tensor("c", {0, 4}, 1, "");
  spelt.version = 2;
  add_byte_vocabulary(spelt);
  int n = 0;
  for (const GgufBuilder* b : {&empty, &values, &tensors, &spelt}) {
    write(folder / ("whole-" + std::to_string(n++)), std::string(1, '\0') + b->bytes());
  }
  for (uint8_t kind = 0; kind < 6; ++kind) {
    write(folder / ("edit-" + std::to_string(kind)), std::string(1, '\1') + raw(kind) +
                                                         raw<uint16_t>(24 + kind * 97) +
                                                         raw<uint32_t>(0x01020304));
  }
}

void write_tokenizer_seeds(const fs::path& folder) {
  const char* const kTexts[] = {
      "def f(x):\n    return x\n",      "if (x) {\r\n\treturn 42;\r\n}\r\n",
      "HTTPServer's don't I'LL 12345",  "日本語 été 😀 e\u0301 \u3000\u00a0",
      "\xff\xc3(\xe6\x97 \xed\xa0\x80", "  \n\n  x://*/\n/"};
  int n = 0;
  for (const char* text : kTexts) {
    for (int rules = 0; rules < 60; rules += 7) {
      ++n;
      write(folder / std::to_string(n),
            std::string(1, static_cast<char>(rules)) + static_cast<char>(n) + text);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_seeds FOLDER\n", stderr);
    return 2;
  }
  const fs::path folder = argv[1];
  fs::create_directories(folder / "gguf");
  fs::create_directories(folder / "tokenizer");
  write_gguf_seeds(folder / "gguf");
  write_tokenizer_seeds(folder / "tokenizer");
}
