// Recorded traffic of five clients, played to the server: no fault, the same documents, and every
// request that nobody cancelled or overtook gets an item each of these clients can show.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "tests/support/lsp_client.h"

namespace foretoken::lsp {
namespace {

using json = nlohmann::json;

constexpr const char* kAddition = "add(int a, int b) {\n    return a + b;\n}";

struct Line {
  char kind;  // C, S or D
  json message;
};

std::vector<Line> lines_of(const std::filesystem::path& log) {
  std::vector<Line> lines;
  std::ifstream file(log);
  for (std::string text; std::getline(file, text);) {
    if (text.starts_with("C> ")) lines.push_back({'C', json::parse(text.substr(3))});
    if (text.starts_with("S> ")) lines.push_back({'S', json::parse(text.substr(3))});
    if (text.starts_with("DOC ")) lines.push_back({'D', json::parse(text.substr(4))});
  }
  return lines;
}

class Replay {
 public:
  explicit Replay(std::vector<Line> lines) : lines_(std::move(lines)) {}

  void run() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      if (line.kind == 'C') send(i);
      if (line.kind == 'D') {
        const auto document = client_->request("foretoken/documentHash", {{"uri", uri_}})["result"];
        EXPECT_EQ(document["bytes"], line.message.get<std::string>().size()) << "line " << i + 1;
        EXPECT_EQ(document["in_sync"], true);
        text_ = line.message;
      }
    }
    end_session();
  }

  size_t items = 0, sessions = 0;

 private:
  void send(size_t i) {
    json message = lines_[i].message;
    const std::string method = message.value("method", "");
    if (method == "initialize") {
      end_session();
      client_ = std::make_unique<LspClient>();
      client_->completer->answer_with([] {
        CompletionAnswer answer;
        answer.text = kAddition;
        return answer;
      }());
      ++sessions;
      // The stand-in server chose its encoding by a rule of its own: the positions that follow are
      // in it.
      json options = message["params"].value("initializationOptions", json());
      if (!options.is_object()) options = json::object();
      options["positionEncoding"] =
          lines_[i + 1].message["result"]["capabilities"]["positionEncoding"];
      message["params"]["initializationOptions"] = options;
    }
    if (method == "textDocument/didOpen") {
      uri_ = message["params"]["textDocument"]["uri"];
      text_ = message["params"]["textDocument"]["text"];
    }
    if (message.contains("id") && !method.empty()) client_->expect_answer(message["id"]);
    client_->raw(message.dump());
    client_->settle();
    if (method == "initialize") {
      ASSERT_TRUE(client_->answer_to(message["id"]));
      client_->source.ready(client_->completer);
    }
    if (method == "textDocument/inlineCompletion") check(message);
    if (method == "shutdown" || method == "workspace/executeCommand") {
      const auto answer = client_->answer_to(message["id"]);
      // The recorded clients accepted the stand-in's own command; ours is another, which is
      // refused.
      ASSERT_TRUE(answer) << method;
      if (method == "shutdown") {
        EXPECT_EQ((*answer)["result"], nullptr);
      }
    }
    if (method == "exit") {
      EXPECT_EQ(client_->exit_code, 0);
    }
  }

  /// The rules of every client at once: one line, around the cursor, begins with what is typed,
  /// adds.
  void check(const json& request) {
    const auto answer = client_->answer_to(request["id"]);
    ASSERT_TRUE(answer);
    ASSERT_EQ((*answer)["result"]["items"].size(), 1u) << *answer;
    const json& item = (*answer)["result"]["items"][0];
    const json& position = request["params"]["position"];
    const json& range = item["range"];
    EXPECT_EQ(range["start"]["line"], position["line"]);
    EXPECT_EQ(range["end"]["line"], position["line"]);
    EXPECT_LE(range["start"]["character"], position["character"]);
    EXPECT_GE(range["end"]["character"], position["character"]);
    const std::string text = item["insertText"];
    EXPECT_EQ(text.find('\r'), std::string::npos);
    EXPECT_TRUE(text.ends_with(kAddition));
    const std::string typed = text.substr(0, text.size() - std::string(kAddition).size());
    EXPECT_NE(text_.find(typed), std::string::npos) << typed;
    EXPECT_TRUE(item["command"]["title"].is_string());
    ++items;
  }

  void end_session() {
    if (!client_) return;
    EXPECT_EQ(client_->unanswered(), 0u);
    EXPECT_TRUE(client_->unattributed().empty());
    client_.reset();
  }

  std::vector<Line> lines_;
  std::unique_ptr<LspClient> client_;
  std::string uri_, text_;
};

TEST(Captures, AreServedWithoutFault) {
  size_t logs = 0, items = 0, sessions = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FORETOKEN_TEST_DATA "/captures")) {
    if (entry.path().extension() != ".log") continue;
    SCOPED_TRACE(entry.path().filename().string());
    Replay replay(lines_of(entry.path()));
    replay.run();
    ++logs;
    items += replay.items;
    sessions += replay.sessions;
  }
  EXPECT_EQ(logs, 5u);
  EXPECT_GE(sessions, 12u);
  EXPECT_GE(items, sessions);
}

}  // namespace
}  // namespace foretoken::lsp
