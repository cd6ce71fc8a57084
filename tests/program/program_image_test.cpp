// kith image: colours, palettes, labels, edges, and what is refused.
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;

namespace {

/// A picture of three vertical stripes of slightly varied red, green and blue; `width` is a multiple of 3.
std::string stripes(int width, int height) {
  std::string out = "P6\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n";
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) out += static_cast<char>(c == x / (width / 3) ? 200 + (x + y) % 3 : 10);
    }
  }
  return out;
}

Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("image reduces a picture to its colours, and writes palette and labels") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "p.ppm", stripes(30, 12));
  for (const std::string space : {"lab", "linear", "srgb"}) {
    const Outcome run = done(
        {"image", "p.ppm", "-k", "3", "--space", space, "-f", "-o", "o.png", "--palette", "p.txt", "--labels", "l.h5"},
        there);
    INFO(run.err);
    CHECK(bytes_of(folder / "o.png").substr(1, 3) == "PNG");
    const std::vector<double> labels = stored(folder / "l.h5:/labels");
    REQUIRE(labels.size() == 360);
    for (std::size_t i = 0; i < labels.size(); ++i) CHECK(labels[i] == labels[i % 30 / 10 * 10]);
    CHECK(labels[0] != labels[10]);
    const std::string palette = bytes_of(folder / "p.txt");
    for (const char* color : {"#c90a0a 0.333333 120\n", "#0ac90a 0.333333 120\n", "#0a0ac9 0.333333 120\n"}) {
      CHECK(palette.find(color) != std::string::npos);
    }
  }
  CHECK(done({"image", "p.ppm", "-k", "3", "--labels", "without.h5"}, there).out.find("#c90a0a       120   33.3 %") !=
        std::string::npos);
  done({"info", "--fresh", "without.h5"}, there);  // it names its input
  // The written picture has these colours and no others.
  CHECK(done({"image", "o.png", "-k", "9"}, there).says("has 3 colours, fewer than -k 9"));
}

TEST_CASE("image gives the same bytes with any number of threads and every backend") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  std::string picture = "P6 700 400 255\n";  // large enough for the table of colours
  std::uint32_t state = 3;
  for (int i = 0; i < 700 * 400 * 3; ++i) picture += static_cast<char>((state = state * 1664525U + 1013904223U) >> 25);
  write_bytes(folder / "p.ppm", picture);
  for (const Words& more : {Words{"-k", "7", "--dither"}, Words{"-k", "5", "--spatial", "1", "--edges", "regions"},
                            Words{"--edges", "sobel"}}) {
    done(plus({"image", "p.ppm", "-f", "--threads", "1", "-o", "a.png"}, more), there);
    for (const std::string& backend : usable_backends()) {
      done(plus({"image", "p.ppm", "-f", "--threads", "2", "-o", "b.png"},
                more.front() == "-k" ? plus(more, {"--backend", backend}) : more),
           there);
      CHECK(bytes_of(folder / "a.png") == bytes_of(folder / "b.png"));
    }
  }
}

TEST_CASE("image keeps what is transparent") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "icon.png", bytes_of(std::string(KITH_SOURCE_DIR) + "/tests/data/icon.png"));
  done({"image", "icon.png", "-k", "2", "-o", "few.png", "--labels", "l.h5"}, there);
  done({"image", "few.png", "-k", "2", "-o", "again.png", "--labels", "a.h5"}, there);
  CHECK(bytes_of(folder / "few.png") == bytes_of(folder / "again.png"));
  // A transparent border around two colours.
  CHECK(stored(folder / "l.h5:/labels") ==
        std::vector<double>{-1, -1, -1, -1, -1, 0, 0, -1, -1, 0, 1, -1, -1, -1, -1, -1});
}

TEST_CASE("image takes the colours of a palette in every format") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "p.ppm", stripes(30, 12));
  write_bytes(folder / "c.txt", "#c80a0a\n#0a0ac8 0.5\n#00ff00\n");
  write_bytes(folder / "c.csv", "r,g,b\n200,10,10\n10,10,200\n0,255,0\n");
  done({"image", "p.ppm", "--palette-from", "c.txt", "-o", "a.png", "--palette", "b.gpl"}, there);
  done({"image", "p.ppm", "--palette-from", "b.gpl", "-o", "b.png", "--palette", "c.h5"}, there);
  done({"image", "p.ppm", "--palette-from", "c.h5:/colors", "-o", "c.png"}, there);
  done({"image", "p.ppm", "--palette-from", "c.csv", "-o", "d.png"}, there);
  for (const char* other : {"b.png", "c.png", "d.png"}) CHECK(bytes_of(folder / "a.png") == bytes_of(folder / other));
  CHECK(stored(folder / "c.h5:/counts") == std::vector<double>{120, 120, 120});
  write_bytes(folder / "bad.txt", "#c80a0a\nred\n");
  refuses(3, {"image", "p.ppm", "--palette-from", "bad.txt"}, {"bad.txt: line 2", "found 'red'"}, there);
  write_bytes(folder / "bad.csv", "r,g,b\n1,2,3\n1,2,300\n");
  refuses(3, {"image", "p.ppm", "--palette-from", "bad.csv"}, {"bad.csv", "row 2", "300"}, there);
}

TEST_CASE("image refuses what it cannot do, before it reads") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "p.ppm", stripes(30, 12));
  write_bytes(folder / "cut.ppm", stripes(30, 12).substr(0, 500));
  refuses(2, {"image", "p.ppm"}, {"-k, the number of colours"}, there);
  refuses(2, {"image", "p.ppm", "--edges", "sobel"}, {"-o"}, there);
  refuses(2, {"image", "p.ppm", "-k", "2", "--spatial", "1", "--dither", "-o", "o.png"}, {"--dither"}, there);
  refuses(5, {"image", "p.ppm", "-k", "2", "-o", "o.jpg"}, {"o.jpg", ".png"}, there);
  refuses(5, {"image", "p.ppm", "-k", "2", "-f", "-o", "p.ppm"}, {"p.ppm"}, there);
  refuses(3, {"image", "cut.ppm", "-k", "2"}, {"cut.ppm", "30 x 12"}, there);
  refuses(3, {"image", kDigits, "-k", "2"}, {"expected a PNG, JPEG or PNM picture"}, there);
  refuses(3, {"image", "none.png", "-k", "2"}, {"none.png"}, there);
  write_bytes(folder / "large.ppm", stripes(3000, 1000));
  const Outcome large = run_kith({"image", "large.ppm", "-k", "2", "--memory", "100MB"}, there);
  CHECK(large.code != 0);
  CHECK(large.says("large.ppm"));
}
