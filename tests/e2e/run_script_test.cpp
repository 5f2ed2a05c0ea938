// ./run with stand-ins for apt, dpkg, cmake and the program: what it calls, when, and what it
// leaves to the command. No network, no compiler.
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>

#include "tests/support/temp_folder.h"

namespace foretoken::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string out, err;
};

class RunScript : public testing::Test {
 protected:
  RunScript() {
    fs::create_directories(folder / "tree");
    fs::copy_file(FORETOKEN_SOURCE_DIR "/run", folder / "tree/run");
    for (const char* file :
         {"CMakeLists.txt", "CMakePresets.json", "lsp/a.cpp", "engine/a.cpp", "kernels/a.cpp"}) {
      folder.write(std::string("tree/") + file, "source");
    }
    tool("dpkg-query", "[ -e $SANDBOX/installed ] && echo -n installed");
    tool("apt-get",
         "echo \"apt-get $*\" >> $SANDBOX/calls; case \"$*\" in *install*) "
         "touch $SANDBOX/installed;; esac");
    tool("sudo", "exec \"$@\"");
    tool("cmake", R"(echo "cmake $*" >> $SANDBOX/calls
[ -e $SANDBOX/broken ] && exit 1
sleep 0.2
case "$*" in *--build*) cp $SANDBOX/program build/release/foretoken ;;
*) touch build/release/CMakeCache.txt; echo "chatter of cmake" ;; esac)");
    tool("ctest",
         R"(echo "ctest $*" >> $SANDBOX/calls; echo "100% tests passed, 0 tests failed out of 1")");
    script("program", R"(case "$1 $2" in
"model pull") echo "pull" >> $SANDBOX/calls; echo "chatter of pull"; [ -e $SANDBOX/offline ] && exit 1
  mkdir -p $HOME/.cache/foretoken/models; touch $HOME/.cache/foretoken/models/m.gguf; exit 0 ;; esac
echo "arguments: $*"; pwd; cat; exit 7)");
    folder.write("installed", "");
  }

  void script(const std::string& name, const std::string& text) {
    fs::permissions(folder.write(name, "#!/bin/sh\n" + text + "\n"), fs::perms::owner_all);
  }
  void tool(const std::string& name, const std::string& text) { script("bin/" + name, text); }

  Outcome run(const std::string& words, const std::string& input = "") {
    const std::string at = folder.path().string();
    folder.write("stdin", input);
    fs::create_directories(folder / "elsewhere");
    const std::string command = "cd " + at + "/elsewhere && env -u XDG_CACHE_HOME HOME=" + at +
                                "/home SANDBOX=" + at + " PATH=" + at +
                                "/bin:/usr/bin:/bin ../tree/run " + words +
                                " <../stdin >../stdout 2>../stderr";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder / "stdout"),
            read_file(folder / "stderr")};
  }
  std::string calls() {
    const std::string text = fs::exists(folder / "calls") ? read_file(folder / "calls") : "";
    fs::remove(folder / "calls");
    return text;
  }

  TempFolder folder;
};

TEST_F(RunScript, SetsUpOnceAndLeavesTheCommandItsStreams) {
  fs::remove(folder / "installed");
  const Outcome first = run("complete 'a b.py:1:2' --json", "typed text");
  EXPECT_EQ(first.status, 7);
  EXPECT_EQ(first.out, "arguments: complete a b.py:1:2 --json\n" + (folder / "elsewhere").string() +
                           "\ntyped text");
  EXPECT_THAT(first.err, HasSubstr("chatter of cmake"));
  EXPECT_THAT(first.err, HasSubstr("chatter of pull"));
  const std::string called = calls();
  EXPECT_THAT(called, HasSubstr("apt-get -q -o DPkg::Lock::Timeout=300 update"));
  EXPECT_THAT(called, HasSubstr("install -y --no-install-recommends g++ cmake"));
  EXPECT_THAT(called, Not(HasSubstr("libgtest-dev")));
  EXPECT_THAT(called, HasSubstr("cmake --preset release -DFORETOKEN_TESTS=OFF"));
  EXPECT_THAT(called, HasSubstr("--target foretoken"));

  const Outcome second = run("complete x", "typed text");
  EXPECT_THAT(second.err, IsEmpty());
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_EQ(second.status, 7);
}

TEST_F(RunScript, TheSecondStartIsQuick) {
  run("complete x");
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) run("complete x");
  const auto each = (std::chrono::steady_clock::now() - begin) / 10;
  EXPECT_LT(each, std::chrono::milliseconds(250));  // 50 ms on an idle machine
}

TEST_F(RunScript, AChangedSourceIsBuiltAgainWithoutPackagesOrPull) {
  run("complete x");
  calls();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  folder.write("tree/engine/new.cpp", "a new file");
  run("complete x");
  EXPECT_THAT(calls(), HasSubstr("cmake --build"));
  fs::remove(folder / "tree/engine/new.cpp");
  run("complete x");
  EXPECT_THAT(calls(), HasSubstr("cmake --build"));
  run("complete x");
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(RunScript, BuildStopsAfterTheBuild) {
  const Outcome outcome = run("build");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(calls(), Not(HasSubstr("pull")));
}

TEST_F(RunScript, AFailedBuildIsAnErrorAndTriedAgain) {
  folder.write("broken", "");
  const Outcome outcome = run("complete x");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("cmake could not set the build up"));
  fs::remove(folder / "broken");
  EXPECT_EQ(run("complete x").status, 7);
}

TEST_F(RunScript, OfflineGoesOnAndDoesNotAskEachTime) {
  folder.write("offline", "");
  fs::create_directories(folder / "home/.cache/foretoken/models");
  const Outcome first = run("complete x");
  EXPECT_EQ(first.status, 7);
  EXPECT_THAT(first.err, HasSubstr("going on with the small built-in model"));
  calls();
  EXPECT_THAT(run("complete x").err, IsEmpty());
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(RunScript, OnlyWhatWantsTheDefaultModelPullsIt) {
  run("build");
  calls();
  for (const char* words : {"model list", "model info x", "complete --model m f:1:1", "--help", "",
                            "complete --help", "model tokenize --model=m"}) {
    run(words);
    EXPECT_THAT(calls(), IsEmpty()) << words;
  }
  run("doctor");
  EXPECT_THAT(calls(), HasSubstr("pull"));
}

TEST_F(RunScript, TwoStartsAtOnceDoTheWorkOnce) {
  const std::string at = folder.path().string();
  fs::create_directories(folder / "home");
  const std::string one = "env -u XDG_CACHE_HOME HOME=" + at + "/home SANDBOX=" + at +
                          " PATH=" + at + "/bin:/usr/bin:/bin " + at +
                          "/tree/run complete x </dev/null >/dev/null 2>&1";
  std::jthread other([&] { EXPECT_EQ(WEXITSTATUS(std::system(one.c_str())), 7); });
  EXPECT_EQ(WEXITSTATUS(std::system(one.c_str())), 7);
  other.join();
  const std::string called = calls();
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (size_t pos = called.find(what); pos != std::string::npos; pos = called.find(what, pos + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("cmake --build"), 1) << called;
  EXPECT_EQ(count("pull"), 1) << called;
}

TEST_F(RunScript, TestBuildsEverythingAndHandsOverToCtest) {
  fs::remove(folder / "installed");
  const Outcome outcome = run("test -R Pull");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "100% tests passed, 0 tests failed out of 1\n");
  const std::string called = calls();
  EXPECT_THAT(called, HasSubstr("libgtest-dev libgmock-dev"));
  EXPECT_THAT(called, HasSubstr("-DFORETOKEN_TESTS=ON"));
  EXPECT_THAT(called, HasSubstr("ctest --preset release --no-tests=error -R Pull"));
}

}  // namespace
}  // namespace foretoken::test
