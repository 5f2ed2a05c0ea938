#include "lsp/catalogue.h"

#include <gmock/gmock.h>

#include "lsp/sha256.h"
#include "tests/support/temp_folder.h"

namespace foretoken::lsp {
namespace {

using test::read_file;
using test::TempFolder;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

Catalogue shipped() {
  return Catalogue::read(FORETOKEN_SOURCE_DIR "/lsp/models.json");
}

TEST(Catalogue, NamesTheModelsThatAreOffered) {
  const Catalogue catalogue = shipped();
  std::vector<std::string> names;
  for (const Entry& entry : catalogue.entries()) {
    names.push_back(entry.name);
    EXPECT_FALSE(entry.licence.empty()) << entry.name;
    EXPECT_GT(entry.bytes, 1000000u) << entry.name;
    EXPECT_THAT(entry.licence, Not(HasSubstr("Gemma"))) << "not an open licence";
  }
  EXPECT_THAT(names, IsSupersetOf({"qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "qwen2.5-coder-3b",
                                   "qwen2.5-coder-7b", "starcoder2-3b", "deepseek-coder-1.3b",
                                   "smollm2-135m", "smollm2-135m-q4_1-pip", "pocket"}));
  EXPECT_EQ(catalogue.standard().name, "qwen2.5-coder-0.5b");
  EXPECT_TRUE(catalogue.hub().starts_with("https://"));
}

TEST(Catalogue, ThePocketModelIsTheOneInTheCatalogue) {
  const Catalogue catalogue = shipped();
  const Entry& pocket = *catalogue.find("pocket");
  const std::string bytes = read_file(FORETOKEN_SOURCE_DIR "/lsp/pocket/" + pocket.file_name());
  Sha256 sum;
  sum.add(bytes);
  EXPECT_EQ(sum.hex(), pocket.sha256);
  EXPECT_EQ(bytes.size(), pocket.bytes);
}

std::string broken(const std::string& from, const std::string& to) {
  const TempFolder folder;
  std::string text = read_file(FORETOKEN_SOURCE_DIR "/lsp/models.json");
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    Catalogue::read(folder.write("models.json", text));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Catalogue, FaultsAreNamed) {
  EXPECT_THAT(broken("\"licence\"", "\"lizenz\""), HasSubstr("licence"));
  EXPECT_THAT(broken("\"qwen2.5-coder-7b\"", "\"../evil\""), HasSubstr("bad model name"));
  EXPECT_THAT(broken("\"qwen2.5-coder-7b\"", "\"pocket\""), HasSubstr("stands there twice"));
  EXPECT_THAT(broken("509287f7", "509287f"), HasSubstr("bad sha256"));
  EXPECT_THAT(broken("\"hub\": \"Qwen/Qwen2.5-Coder-7B-Instruct-GGUF\",", ""),
              HasSubstr("exactly one"));
  EXPECT_THAT(broken("1d961463", "2d961463"), HasSubstr("must share one sha256"));
  EXPECT_THAT(broken("{", "["), HasSubstr("is broken"));
  EXPECT_THROW(Catalogue::read("/nonexistent/models.json"), std::runtime_error);
}

TEST(Catalogue, BytesForPeople) {
  EXPECT_EQ(human_bytes(491400064), "491 MB");
  EXPECT_EQ(human_bytes(4683073536), "4.7 GB");
  EXPECT_EQ(human_bytes(8497), "8 kB");
}

}  // namespace
}  // namespace foretoken::lsp
