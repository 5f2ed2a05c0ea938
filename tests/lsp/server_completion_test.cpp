#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "tests/support/lsp_client.h"

namespace foretoken::lsp {
namespace {

using json = nlohmann::json;
namespace fs = std::filesystem;

const json kNothing = {{"items", json::array()}};
constexpr const char* kUri = "file:///project/t.c";

int code(const json& response) {
  return response.contains("error") ? response["error"]["code"].get<int>() : 0;
}

class CompletionTest : public testing::Test {
 protected:
  void SetUp() override {
    client_.start();
    client_.open(kUri, "int ");
  }
  json status() { return client_.request("foretoken/status", nullptr)["result"]; }

  LspClient client_;
};

TEST_F(CompletionTest, AnswersWithOneItem) {
  const json response = client_.complete(kUri, 0, 4);
  const json& item = response["result"]["items"][0];
  EXPECT_EQ(item["insertText"], "int completed");
  EXPECT_EQ(item["range"],
            json::parse(R"({"start":{"line":0,"character":0},"end":{"line":0,"character":4}})"));
  EXPECT_EQ(item["command"]["command"], "foretoken.didAcceptCompletionItem");
  EXPECT_TRUE(item["command"]["title"].is_string() && item["command"]["arguments"][0].is_string());
  EXPECT_FALSE(item.contains("filterText"));
  EXPECT_EQ(status()["answered"], 1);
}

TEST_F(CompletionTest, EveryItemHasItsOwnId) {
  const auto id = [&] {
    return client_.complete(kUri, 0, 4)["result"]["items"][0]["command"]["arguments"][0];
  };
  EXPECT_NE(id(), id());
}

TEST_F(CompletionTest, TheQuerySaysWhatIsAsked) {
  client_.notify(
      "workspace/didChangeWorkspaceFolders",
      {{"event",
        {{"added", {{{"uri", "file:///project"}, {"name", "p"}}}}, {"removed", json::array()}}}});
  client_.notify("workspace/didChangeConfiguration",
                 {{"settings", {{"foretoken", {{"mode", "word"}, {"maxTokens", 5}}}}}});
  client_.open("file:///project/src/a%20b.c", "é\r\nx");
  client_.complete("file:///project/src/a%20b.c", 1, 1);
  const CompletionQuery query = client_.completer->queries().back();
  EXPECT_EQ(query.path, "src/a b.c");
  EXPECT_EQ(query.cursor, 5u);
  EXPECT_EQ(query.mode, engine::Mode::word);
  EXPECT_EQ(query.max_tokens, 5);
  EXPECT_EQ(query.document->language(), "c");
}

TEST_F(CompletionTest, NothingToShowIsAnEmptyList) {
  CompletionAnswer nothing;
  nothing.reason = "blank";
  client_.completer->answer_with(nothing);
  EXPECT_EQ(client_.complete(kUri, 0, 4)["result"], kNothing);
  nothing.error = "the backend failed";
  client_.completer->answer_with(nothing);
  EXPECT_EQ(client_.complete(kUri, 0, 4)["result"], kNothing);  // never an error
  EXPECT_EQ(status()["empty"], 2);
}

TEST_F(CompletionTest, TheNewestRequestOfADocumentWins) {
  client_.completer->close_gate();
  client_.open("file:///other", "x");
  const json other = client_.send_complete("file:///other", 0, 1);
  const json first = client_.send_complete(kUri, 0, 3);
  const json second = client_.send_complete("file:///project/%74.c", 0, 4);  // the same document
  EXPECT_EQ((*client_.answer_to(first))["result"], nullptr);
  EXPECT_FALSE(client_.answered(second));
  client_.completer->open_gate();
  client_.settle();
  EXPECT_EQ((*client_.answer_to(second))["result"]["items"].size(), 1u);
  EXPECT_EQ((*client_.answer_to(other))["result"]["items"].size(), 1u);
  EXPECT_TRUE(
      client_.completer->cancelled().empty());  // the engine itself lets the newer take over
  EXPECT_EQ(status()["superseded"], 1);
}

TEST_F(CompletionTest, ANewerRequestThatAsksNothingStopsTheOlder) {
  client_.completer->close_gate();
  const json first = client_.send_complete(kUri, 0, 3);
  client_.notify("workspace/didChangeConfiguration", {{"settings", {{"enabled", false}}}});
  EXPECT_EQ(client_.complete(kUri, 0, 4)["result"], kNothing);
  EXPECT_EQ((*client_.answer_to(first))["result"], nullptr);
  EXPECT_EQ(client_.completer->running(), 0u);
}

TEST_F(CompletionTest, CancelledByTheClient) {
  client_.completer->close_gate();
  const json id = client_.send_complete(kUri, 0, 4);
  client_.notify("$/cancelRequest", {{"id", 99}});
  client_.notify("$/cancelRequest", {{"id", id.dump()}});  // a string is another id
  EXPECT_FALSE(client_.answered(id));
  client_.notify("$/cancelRequest", {{"id", id}});
  EXPECT_EQ(code(*client_.answer_to(id)), -32800);
  client_.notify("$/cancelRequest", {{"id", id}});
  client_.completer->open_gate();
  client_.settle();
  EXPECT_EQ(client_.completer->cancelled().size(), 1u);
  EXPECT_EQ(status()["cancelled"], 1);
}

TEST_F(CompletionTest, IdsOfEitherKind) {
  client_.completer->close_gate();
  const json params = {{"textDocument", {{"uri", kUri}}},
                       {"position", {{"line", 0}, {"character", 4}}}};
  client_.send_with_id("1", "textDocument/inlineCompletion", params);
  client_.send_with_id("1", "foretoken/status", nullptr);  // still in use
  EXPECT_EQ(code(*client_.answer_to("1")), -32600);
  client_.notify("$/cancelRequest", {{"id", 1}});
  EXPECT_FALSE(client_.answered("1"));
  client_.notify("$/cancelRequest", {{"id", "1"}});
  EXPECT_EQ(code(*client_.answer_to("1")), -32800);
}

TEST_F(CompletionTest, AnswersForATextThatHasChangedAreNull) {
  client_.completer->close_gate();
  const json id = client_.send_complete(kUri, 0, 4);
  client_.change(kUri, 2, {{{"text", "int x"}}});
  client_.completer->open_gate();
  client_.settle();
  EXPECT_EQ((*client_.answer_to(id))["result"], nullptr);

  client_.completer->close_gate();
  const json same = client_.send_complete(kUri, 0, 5);
  client_.change(kUri, 3, {{{"text", "int x"}}});  // another version of the same text
  client_.completer->open_gate();
  client_.settle();
  EXPECT_EQ((*client_.answer_to(same))["result"]["items"].size(), 1u);
}

TEST_F(CompletionTest, AClosedDocumentsRequestIsAnswered) {
  client_.completer->close_gate();
  const json id = client_.send_complete(kUri, 0, 4);
  client_.notify("textDocument/didClose", {{"textDocument", {{"uri", kUri}}}});
  EXPECT_EQ((*client_.answer_to(id))["result"], kNothing);
  EXPECT_EQ(client_.completer->running(), 0u);
  EXPECT_EQ(client_.complete(kUri, 0, 4)["result"], kNothing);  // not open, not a file
}

TEST_F(CompletionTest, OutOfSyncUntilTheWholeTextComes) {
  const json unfit = {
      {{"range",
        {{"start", {{"line", 90}, {"character", 0}}}, {"end", {{"line", 91}, {"character", 0}}}}},
       {"text", "x"}}};
  const std::vector<std::function<void()>> faults = {
      [&] { client_.change(kUri, 2, unfit); },
      [&] {
        client_.change(kUri, 2, {{{"text", 5}}});
      },  // an edit nobody can read
      [&] {
        client_.change(kUri, 2, {{{"range", "x"}, {"text", ""}}});
      },
  };
  const std::vector<std::function<void()>> cures = {
      [&] {
        client_.change(kUri, 3, {{{"text", "int "}}});
      },
      [&] { client_.open(kUri, "int "); },
      [&] {
        client_.notify("textDocument/didSave",
                       {{"textDocument", {{"uri", kUri}}}, {"text", "int "}});
      },
  };
  for (const auto& fault : faults) {
    for (const auto& cure : cures) {
      fault();
      EXPECT_EQ(client_.complete(kUri, 0, 4)["result"], kNothing);
      EXPECT_EQ(client_.request("foretoken/documentHash", {{"uri", kUri}})["result"]["in_sync"],
                false);
      client_.notify("textDocument/didSave", {{"textDocument", {{"uri", kUri}}}});  // says nothing
      EXPECT_EQ(client_.complete(kUri, 0, 4)["result"], kNothing);
      cure();
      EXPECT_EQ(client_.complete(kUri, 0, 4)["result"]["items"].size(), 1u);
    }
  }
  client_.change("file:///never/opened", 2, unfit);
  EXPECT_EQ(client_.complete("file:///never/opened", 0, 0)["result"], kNothing);
}

TEST_F(CompletionTest, SelectedSuggestion) {
  const auto ask = [&](const json& selected) {
    return client_.request(
        "textDocument/inlineCompletion",
        {{"textDocument", {{"uri", kUri}}},
         {"position", {{"line", 0}, {"character", 4}}},
         {"context",
          {{"triggerKind", 1}, {"selectedCompletionInfo", selected}}}})["result"]["items"];
  };
  const json here =
      json::parse(R"({"start":{"line":0,"character":0},"end":{"line":0,"character":4}})");
  const json elsewhere =
      json::parse(R"({"start":{"line":5,"character":0},"end":{"line":6,"character":0}})");
  const json items = ask({{"range", here}, {"text", "integer"}});
  EXPECT_EQ(items[0]["insertText"], "integercompleted");
  EXPECT_EQ(items[0]["range"], here);
  EXPECT_EQ(client_.completer->queries().back().document->text(), "integer");
  EXPECT_EQ(ask({{"range", elsewhere}, {"text", "integer"}}), json::array());
  EXPECT_EQ(ask({{"range", elsewhere}, {"text", ""}})[0]["insertText"],
            "int completed");  // an empty selection
}

class FilesTest : public CompletionTest {
 protected:
  void SetUp() override {
    CompletionTest::SetUp();
    fs::create_directories(root_ / "inside");
    fs::create_directories(root_ / "outside");
    client_.notify(
        "workspace/didChangeWorkspaceFolders",
        {{"event",
          {{"added", {{{"uri", uri_of_path((root_ / "inside").string())}, {"name", "p"}}}}}}});
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const char* name, std::string_view text) { std::ofstream(root_ / name) << text; }
  /// What was read, or "-".
  std::string read(const std::string& uri) {
    const uint64_t before = client_.completer->started();
    client_.complete(uri, 0, 0);
    return client_.completer->started() == before
               ? "-"
               : client_.completer->queries().back().document->text();
  }
  std::string uri(const char* name) { return uri_of_path((root_ / name).string()); }

  const fs::path root_ =
      fs::canonical(fs::temp_directory_path()) / ("front_files_" + std::to_string(::getpid()));
};

TEST_F(FilesTest, NeverOpenedFilesAreReadFromTheWorkspaceOnly) {
  write("inside/a b.c", "inside");
  write("outside/b.c", "outside");
  write("inside/big.c", std::string(4u << 20, 'x') + "x");
  write("inside/full.c", std::string(4u << 20, 'x'));
  write("inside/latin.c", "\xe9");
  fs::create_symlink(root_ / "outside/b.c", root_ / "inside/link_out.c");
  fs::create_symlink(root_ / "inside/a b.c", root_ / "inside/link_in.c");
  fs::create_symlink(root_ / "inside", root_ / "outside/door");
  fs::create_symlink("loop.c", root_ / "inside/loop.c");
  ASSERT_EQ(::mkfifo((root_ / "inside/fifo.c").c_str(), 0600), 0);

  EXPECT_EQ(read(uri("inside/a b.c")), "inside");
  EXPECT_EQ(read(uri("inside/link_in.c")), "inside");
  EXPECT_EQ(read(uri("outside/door/a b.c")), "inside");  // the same file by another name
  EXPECT_EQ(read(uri("inside/full.c")).size(), 4u << 20);
  for (const char* name :
       {"outside/b.c", "inside/link_out.c", "inside/big.c", "inside/latin.c", "inside/loop.c",
        "inside/fifo.c", "inside", "inside/../outside/b.c", "inside/missing.c"}) {
    EXPECT_EQ(read(uri(name)), "-") << name;
  }
  for (const char* odd :
       {"untitled:a", "file://host/a", "file:///dev/zero", "file:///proc/self/environ",
        "http://x/a", "file:", "", "file:///%00", "file:///a%2"}) {
    EXPECT_EQ(read(odd), "-") << odd;
  }
  client_.notify("workspace/didChangeWorkspaceFolders",
                 {{"event", {{"removed", {{{"uri", uri("inside")}, {"name", "p"}}}}}}});
  EXPECT_EQ(read(uri("inside/a b.c")), "-");
}

TEST_F(FilesTest, SavingBringsADocumentBackIntoStep) {
  write("inside/a.c", "saved text\n");
  client_.open(uri("inside/a.c"), "old\n");
  client_.change(uri("inside/a.c"), 2,
                 {{{"range", {{"start", {{"line", 9}, {"character", 0}}}, {"end", {{"line", 9}, {"character", 0}}}}},
                   {"text", "lost"}}});
  EXPECT_EQ(read(uri("inside/a.c")), "-");
  client_.notify("textDocument/didSave", {{"textDocument", {{"uri", uri("inside/a.c")}}}});
  EXPECT_EQ(read(uri("inside/a.c")), "saved text\n");
}

/// A thousand requests and nine hundred cancels, before, during and after, of unknown and repeated
/// ids.
TEST(Cancellation, EveryRequestIsAnsweredOnce) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    std::mt19937_64 random(seed);
    LspClient client;
    client.start();
    for (int i = 0; i < 5; ++i) client.open("file:///" + std::to_string(i), "text of some length ");
    size_t heap_before = 0;
    for (int round = 0; round < 2; ++round) {  // the first warms the heap up
      if (round == 1) heap_before = ::mallinfo2().uordblks;
      std::vector<json> ids;
      int cancels = 0;
      for (int i = 0; i < 1000; ++i) {
        if (random() % 8 == 0) client.completer->close_gate();
        if (random() % 8 == 0) client.completer->open_gate();
        ids.push_back(client.send_complete("file:///" + std::to_string(random() % 5), 0,
                                           static_cast<int>(random() % 20)));
        while (cancels < (i + 1) * 9 / 10) {
          ++cancels;
          const json any = random() % 10 == 0 ? json("unknown") : ids[random() % ids.size()];
          client.notify("$/cancelRequest", {{"id", random() % 2 == 0 ? ids.back() : any}});
        }
        if (random() % 4 == 0) client.settle();
      }
      client.completer->open_gate();
      client.settle();
      EXPECT_EQ(client.unanswered(), 0u) << "seed " << seed;
      EXPECT_EQ(client.completer->running(), 0u);
      for (const json& id : ids) {
        const auto answer = client.answer_to(id);
        ASSERT_TRUE(answer) << "seed " << seed;
        const bool known = code(*answer) == -32800 ||
                           (code(*answer) == 0 && ((*answer)["result"].is_null() ||
                                                   (*answer)["result"]["items"].size() == 1));
        ASSERT_TRUE(known) << *answer;
        EXPECT_FALSE(client.answer_to(id));
      }
      const json status = client.request("foretoken/status", nullptr)["result"];
      EXPECT_EQ(status["in_flight"], 0);
      EXPECT_EQ(status["answered"].get<int>() + status["empty"].get<int>() +
                    status["cancelled"].get<int>() + status["superseded"].get<int>(),
                1000 * (round + 1));
    }
    EXPECT_LT(::mallinfo2().uordblks, heap_before + (1u << 20));
  }
}

}  // namespace
}  // namespace foretoken::lsp
