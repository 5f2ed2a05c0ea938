// Any text through every set of split rules: tokens and pieces give the text back. First byte: the
// rules; second: where the text is cut for the tokens compatible with its beginning.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine/gguf.h"
#include "engine/pretokenizer.h"
#include "engine/tokenizer.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/temporary_file.h"

namespace {

using namespace foretoken;

const engine::Tokenizer& tokenizer_with(size_t choice) {
  static const auto kNames = engine::pretokenizer_names();
  static std::vector<std::unique_ptr<engine::Tokenizer>> tokenizers(kNames.size());
  auto& tokenizer = tokenizers[choice % kNames.size()];
  if (!tokenizer) {
    test::GgufBuilder b;
    test::add_byte_vocabulary(b, kNames[choice % kNames.size()]);
    const test::TemporaryFile file(b.bytes());
    tokenizer = std::make_unique<engine::Tokenizer>(engine::GgufFile(file.path()));
  }
  return *tokenizer;
}

void require(bool held) {
  if (!held) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const engine::Tokenizer& tokenizer = tokenizer_with(data[0]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::vector<engine::TokenId> ids = tokenizer.encode(text);
  require(tokenizer.decode(ids) == text);
  engine::Detokenizer stream(tokenizer);
  std::string streamed;
  for (const engine::TokenId id : ids) {
    require(tokenizer.type(id) == engine::TokenType::normal);
    streamed += stream.push(id);
  }
  require(streamed + stream.flush() == text);

  const std::vector<size_t> ends = tokenizer.piece_ends(text);
  size_t at = 0, piece = 0, before = 0;
  for (const engine::TokenId id : ids) {  // no token spans two pieces
    at += tokenizer.text(id).size();
    require(piece < ends.size() && at <= ends[piece]);
    if (at == ends[piece]) ++piece;
  }
  for (const size_t end : ends) {
    require(end > before);
    before = end;
  }
  require(before == text.size() && piece == ends.size());

  const std::string_view beginning = text.substr(0, 1 + data[1] % 8);
  const std::vector<engine::TokenId> fits = tokenizer.compatible(beginning);
  require(fits.empty() == beginning.empty() && std::is_sorted(fits.begin(), fits.end()));
  for (const engine::TokenId id : fits) {
    const std::string_view token = tokenizer.text(id);
    require(token.starts_with(beginning) || beginning.starts_with(token));
  }
  return 0;
}
