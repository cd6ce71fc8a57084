// Files from strangers: what their texts may do to a terminal, and which other files they make kith open.
#include <fcntl.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tests/support/hdf5_attributes.h"
#include "tests/support/program.h"

using namespace kith::testing;

namespace {

/// A file that says that it is a result of kith, with these texts.
void make_result(const std::string& name, const std::vector<std::pair<std::string, std::string>>& texts) {
  std::filesystem::remove(name);
  const hid_t file = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(file >= 0);
  write_text_attribute(file, "format", "kith-clusters", false);
  for (const auto& [attribute, text] : texts) write_text_attribute(file, attribute.c_str(), text.c_str(), false);
  H5Fclose(file);
}

/// What a shell's command prints on a terminal.
std::string on_terminal(const std::string& command) {
  int terminal = -1;
  const pid_t process = forkpty(&terminal, nullptr, nullptr, nullptr);
  REQUIRE(process >= 0);
  if (process == 0) {
    execlp("sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  std::string shown;
  char bytes[4096];
  for (ssize_t count = 0; (count = read(terminal, bytes, sizeof bytes)) > 0;) {  // an error ends it, too
    shown.append(bytes, static_cast<std::size_t>(count));
  }
  close(terminal);
  int status = 0;
  REQUIRE(waitpid(process, &status, 0) == process);
  CHECK(status == 0);
  return shown;
}

}  // namespace

TEST_CASE("info --fresh opens no file outside the folder of a result, whatever the result says") {
  const Scratch folder, elsewhere;
  write_bytes(elsewhere / "secret.csv", "a\n0\n1\n8\n9\n");
  // What opens the file changes the time of its last access, which is then after that of its bytes.
  const auto is_unread = [&] {
    struct stat status {};
    REQUIRE(stat((elsewhere / "secret.csv").c_str(), &status) == 0);
    return status.st_atim.tv_sec == 1000;
  };
  const auto forget = [&] {
    const timespec times[2] = {{1000, 0}, {2000, 0}};
    REQUIRE(utimensat(AT_FDCWD, (elsewhere / "secret.csv").c_str(), times, 0) == 0);
  };
  const std::string name = std::filesystem::path(elsewhere.path()).filename().string();
  for (const std::string& named : {elsewhere / "secret.csv", "../" + name + "/secret.csv", std::string("secret.csv")}) {
    const std::string file = folder / "made.h5";
    std::filesystem::remove(file);
    make_result(file, {{"command", "cluster " + named}, {"inputs", "00000000 17 " + named}});
    forget();
    const Outcome outcome = run_kith({"info", "--fresh", file}, {.folder = elsewhere / ""});
    INFO(named << "\n" << outcome.err);
    CHECK(outcome.code == 1);
    CHECK(is_unread());
    std::filesystem::create_symlink(elsewhere / "secret.csv", folder / "secret.csv");  // a link is no way around
    CHECK(run_kith({"info", "--fresh", file}).code == 1);
    CHECK(is_unread());
    std::filesystem::remove(folder / "secret.csv");
  }
  run_kith({"info", "--fresh", folder / "made.h5", "--inputs", elsewhere / "secret.csv"});
  if (is_unread()) WARN("this file system does not keep times of access; whether the file was opened was not seen");
}

TEST_CASE("a table shows what a terminal would obey, and JSON has it as it is") {
  const Scratch folder;
  const std::string evil = "v\x1b[31mRED\x1b]0;pwned\x07 =HYPERLINK(1) \xc2\x9b \xe2\x80\x8b.", file = folder / "e.h5";
  make_result(file, {{"note", evil}, {"n\x1b[2J", "x\ny"}});
  const std::string table = done({"table", file}).out;
  INFO(table);
  CHECK(table.find('\x1b') == std::string::npos);
  CHECK(table.find('\x07') == std::string::npos);
  CHECK(table.find("v\\x1b[31mRED\\x1b]0;pwned\\x07 =HYPERLINK(1) \\x9b \\u200b.") != std::string::npos);
  CHECK(table.find("n\\x1b[2J") != std::string::npos);
  CHECK(table.find("x\\ny") != std::string::npos);
  CHECK(std::count(table.begin(), table.end(), '\n') == 2);
  CHECK(done({"table", file, "--json"}).json()["rows"][0]["note"] == evil);
}

TEST_CASE("names are escaped on a terminal, and are as they are in files") {
  const Scratch folder;
  const std::string name = "r\x1b[31med\xe2\x80\x8b";
  std::string rows;
  for (int i = 0; i < 6; ++i) rows += name + std::to_string(i) + "," + std::to_string(i % 2 * 9 + i) + "\n";
  write_bytes(folder / "x.csv", "kind,a\n" + rows);
  const std::string labels = " --id-column kind -k 1 -q";
  const std::string command = "cd '" + (folder / "") + "' && '" KITH_BINARY "' knn x.csv" + labels;
  const std::string shown = on_terminal(command);
  INFO(shown);
  CHECK(shown.find('\x1b') == std::string::npos);
  CHECK(shown.find("r\\x1b[31med\\u200b0\t") != std::string::npos);  // tabs stay
  REQUIRE(std::system((command + " -o out.csv").c_str()) == 0);
  CHECK(bytes_of(folder / "out.csv").find(name) != std::string::npos);
}

TEST_CASE("colours are shown as blocks on a terminal alone, unless NO_COLOR is set") {
  const Scratch folder;
  write_bytes(folder / "p.ppm", std::string("P6 2 1 255\n\xff\0\0\0\0\xff", 17));
  const std::string image = std::string(KITH_BINARY) + " image " + (folder / "p.ppm") + " -k 2 --space srgb -q";
  const std::string plain = "TERM=xterm COLORTERM= " + image;
  CHECK(on_terminal("TERM=xterm COLORTERM=truecolor " + image).find("\033[48;2;255;0;0m    \033[0m     0  #ff0000") !=
        std::string::npos);
  CHECK(on_terminal(plain).find("\033[48;5;196m    \033[0m     0  #ff0000") != std::string::npos);
  for (const std::string& command : {"NO_COLOR=1 " + plain, "TERM=dumb " + image, plain + " | cat"}) {
    const std::string shown = on_terminal(command);
    CHECK(shown.find("\033[48") == std::string::npos);
    CHECK(shown.find("#ff0000") != std::string::npos);
  }
}
