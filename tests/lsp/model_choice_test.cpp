#include "lsp/model_choice.h"

#include <gmock/gmock.h>

#include "tests/support/temp_folder.h"

namespace foretoken::lsp {
namespace {

using test::TempFolder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// The real catalogue, empty folders, a machine of two processors.
class Choice : public testing::Test {
 protected:
  Choice() {
    std::filesystem::create_directories(paths.models());
    machine.processors = 2;
    machine.memory_total = 24ull << 30;
  }

  void put(const std::string& name) {  // as far as sizes tell, the model of that name
    const auto file = folder.write("cache/models/" + name + ".gguf", "");
    if (const Entry* entry = catalogue.find(name)) std::filesystem::resize_file(file, entry->bytes);
    folder.write("cache/models/" + name + ".gguf.sha256", "pin");
  }
  ModelChoice choose(const std::string& wanted = "") {
    return choose_model(wanted, catalogue, paths, config, machine);
  }
  std::string failure(const std::string& wanted) {
    try {
      return "chose " + choose(wanted).name;
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }

  TempFolder folder;
  Catalogue catalogue = Catalogue::read(FORETOKEN_SOURCE_DIR "/lsp/models.json");
  Paths paths{.share = FORETOKEN_SOURCE_DIR "/lsp/pocket",
              .cache = folder / "cache",
              .config = folder / "c"};
  UserConfig config;
  Machine machine;
};

TEST_F(Choice, PocketWhereNothingElseIsAndItSaysSo) {
  const ModelChoice choice = choose();
  EXPECT_EQ(choice.name, "pocket");
  EXPECT_TRUE(std::filesystem::exists(choice.path));
  EXPECT_THAT(choice.note, HasSubstr("foretoken model pull qwen2.5-coder-0.5b"));
}

TEST_F(Choice, TheBestPulledOneThatIsFastEnough) {
  put("smollm2-135m-q4_1-pip");
  EXPECT_EQ(choose().name, "smollm2-135m-q4_1-pip");
  put("qwen2.5-coder-0.5b");
  put("qwen2.5-coder-7b");
  EXPECT_EQ(choose().name, "qwen2.5-coder-0.5b");
  EXPECT_THAT(choose().note, IsEmpty());
  machine.processors = 16;
  EXPECT_EQ(choose().name, "qwen2.5-coder-7b");
  machine.memory_total = 4ull << 30;
  EXPECT_EQ(choose().name, "qwen2.5-coder-0.5b");
}

TEST_F(Choice, ModelsThatThisVersionLacksAreNotChosen) {
  put("starcoder2-3b");
  machine.processors = 64;
  EXPECT_EQ(choose().name, "pocket");
}

TEST_F(Choice, TheConfiguredOneWinsEvenWhereItIsSlow) {
  put("qwen2.5-coder-0.5b");
  put("qwen2.5-coder-7b");
  config.model = "qwen2.5-coder-7b";
  EXPECT_EQ(choose().name, "qwen2.5-coder-7b");
  EXPECT_EQ(choose("qwen2.5-coder-0.5b").name, "qwen2.5-coder-0.5b");
}

TEST_F(Choice, AWrongSettingIsToldAndDoesNotStopAnything) {
  put("qwen2.5-coder-0.5b");
  config.model = "qwen2.5-coder-3b";
  const ModelChoice choice = choose();
  EXPECT_EQ(choice.name, "qwen2.5-coder-0.5b");
  EXPECT_THAT(choice.note, HasSubstr("foretoken model pull qwen2.5-coder-3b"));
  config = {.problem = "config.json is not used: it is no JSON object"};
  EXPECT_THAT(choose().note, HasSubstr("not used"));
}

TEST_F(Choice, FilesAndBareNames) {
  const auto file = folder.write("elsewhere/My Model.gguf", "x");
  EXPECT_EQ(choose(file.string()).path, file);
  EXPECT_EQ(choose(file.string()).name, "My Model");
  put("my-own");
  EXPECT_EQ(choose("my-own").path, paths.models() / "my-own.gguf");
  EXPECT_EQ(choose("my-own.gguf").name, "my-own");
  EXPECT_EQ(choose("pocket").name, "pocket");
}

TEST_F(Choice, UnknownNamesGetNearOnes) {
  EXPECT_THAT(failure("qwen2.5-coder-0.6b"), HasSubstr("did you mean"));
  EXPECT_THAT(failure("qwen2.5-coder-0.6b"), HasSubstr("qwen2.5-coder-0.5b"));
  EXPECT_THAT(failure("zzz"), HasSubstr("foretoken model list"));
  EXPECT_THAT(failure("qwen2.5-coder-0.5b"), HasSubstr("foretoken model pull qwen2.5-coder-0.5b"));
  EXPECT_THAT(failure("gone/file.gguf"), HasSubstr("there is no model file gone/file.gguf"));
}

TEST_F(Choice, NamesDoNotLeaveTheModelsFolder) {
  folder.write("cache/secret.gguf", "x");
  EXPECT_THAT(failure("../secret"), HasSubstr("there is no model"));
  EXPECT_THAT(failure("..secret"), HasSubstr("there is no model"));
  const std::string said = failure("a\x1b[31mb");
  EXPECT_THAT(said, Not(HasSubstr("\x1b")));
}

TEST_F(Choice, AChangedFileIsNotUsedByName) {
  put("qwen2.5-coder-0.5b");
  std::filesystem::resize_file(paths.models() / "qwen2.5-coder-0.5b.gguf", 1000);
  EXPECT_EQ(choose().name, "pocket");
  EXPECT_THAT(failure("qwen2.5-coder-0.5b"), HasSubstr("was changed since it was pulled"));
}

TEST(UserConfig, IsReadKindly) {
  const TempFolder folder;
  EXPECT_THAT(read_user_config(folder / "absent.json").problem, IsEmpty());
  EXPECT_EQ(read_user_config(folder.write("a", R"({"model": "pocket", "other": 1})")).model,
            "pocket");
  EXPECT_THAT(read_user_config(folder.write("b", "{")).problem, HasSubstr("no JSON object"));
  EXPECT_THAT(read_user_config(folder.write("c", "[]")).problem, HasSubstr("no JSON object"));
  EXPECT_THAT(read_user_config(folder.write("d", R"({"model": 3})")).problem,
              HasSubstr("\"model\""));
}

TEST(Machine, IsLookedAt) {
  const Machine machine = Machine::look();
  EXPECT_GE(machine.processors, 1);
  EXPECT_GT(machine.memory_total, 100u << 20);
  EXPECT_LE(machine.memory_available, machine.memory_total);
}

}  // namespace
}  // namespace foretoken::lsp
