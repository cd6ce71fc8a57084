// What a message proposes works: it is run on the file that provoked the message.
#include <string>
#include <vector>

#include "tests/support/numpy_files.h"
#include "tests/support/program.h"
#include "tests/support/proposals.h"

using namespace kith;
using namespace kith::testing;

namespace {

std::string lines(int count, const std::string& line) {
  std::string all;
  for (int i = 0; i < count; ++i) all += line;
  return all;
}

}  // namespace

TEST_CASE("the proposals of a message are found in it") {
  const auto found = [](const std::string& message) {
    std::vector<Words> all;
    for (const Proposal& proposal : proposals_of(message)) all.push_back(proposal.options);
    return all;
  };
  CHECK(found("kith: t.csv: found 'x'; say --decimal comma --thousands point, or --delimiter comma if it separates") ==
        std::vector<Words>{{"--decimal", "comma", "--thousands", "point"}, {"--delimiter", "comma"}});
  CHECK(found("kith: t: x; say --na-values 'a b,-' --nan drop; or name the delimiter with --delimiter") ==
        std::vector<Words>{{"--na-values", "a b,-", "--nan", "drop"}});
  CHECK(found("kith: t: --nan drop was given; leave out --precision f32") ==
        std::vector<Words>{{"--precision", "f32"}});
  CHECK(proposals_of("x; leave out --precision f32").front().leaves_out);
  CHECK(found("kith: t: found none; give --transpose for columns, or --columns LIST") ==
        std::vector<Words>{{"--transpose"}});
  CHECK(with({{"--columns", "a", "--nan", "drop"}}, {"cluster", "t", "--columns", "b", "-k", "2"}) ==
        Words{"cluster", "t", "-k", "2", "--columns", "a", "--nan", "drop"});
}

TEST_CASE("what messages about tables propose reads them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  struct Case {
    std::string table;
    std::size_t proposals;  // at least
    Words more = {};
  };
  const std::string numbers = lines(30, "1,2,5\n3,4,9\n");
  for (const Case& given : {
           // Missing values
           Case{"x,y\n1,2\n<NA>,3\n4,5\n9,9\n", 2},
           Case{"x,y\n1,2\nn/a,3\n4,5\n9,9\n", 2},
           Case{"x,y\n1,2\n#DIV/0!,3\n4,5\n9,9\n", 2},
           Case{"x,y\n1,2\n\\N,3\n4,\\N\n9,9\n8,8\n7,7\n", 1},
           Case{"x\n1\n<NA>\n3\n4\n", 1},
           Case{"x\n1\nNA\n3\n4\n", 1},
           Case{"x,y\n1,2\n,3\n4,5\n9,9\n", 2},
           Case{"x,y\n1,2\nnan,3\n4,5\n9,9\n", 1},
           Case{"x,y\n1,2\ninf,3\n4,5\n9,9\n", 1},
           Case{"x\n1\n\"\"\n3\n4\n", 1},
           // Words
           Case{"x\n1\nunknown\n3\n4\n", 1},
           Case{"x\n1\n-\n3\n4\n", 1},
           Case{"x\n1\n-\nunknown\n3\n4\n", 1},
           Case{"x\n1\n-\nunknown\n3\n4\n", 1, {"--nan", "drop"}},
           Case{"x\n1\n-\n\nunknown\n3\n4\n", 1, {"--na-values", "unknown"}},
           Case{"x,y\n1,2\n-,3\n4,5\n9,9\n", 2},
           Case{"x,y\n1,2\nNA,3\n-,5\n9,9\n9,8\n9,7\n", 2},
           Case{"x,y\n1,2\nNA,3\n-,5\n9,none\n9,8\n9,7\n8,8\n6,7\n", 1},
           Case{"x,y,z\n1,NA,1\n2,NA,2\nNA,3,3\nNA,4,4\n", 1},
           Case{"x,y,z\n1,-,1\n2,-,2\nNA,3,3\nNA,4,4\n", 1, {"--nan", "drop"}},
           Case{numbers + "unknown,2,3\n", 2},
           Case{"w,x,y\na,1,2\nb,NA,3\nc,4,5\nd,9,9\n", 2, {"--drop-columns", "w"}},
           Case{"w,x,y\na,1,2\nb,-,3\nc,4,5\nd,9,9\n", 2, {"--drop-columns", "w"}},
           Case{"w,v,x,y\na,p,1,2\nb,q,5,3\nc,r,4,5\nd,s,9,9\n", 1, {"--drop-columns", "w"}},
           Case{numbers + "a,2,3\nb,2,3\nc,2,3\nd,2,3\ne,2,3\n", 1},
           Case{numbers + "unknown,2,3\n" + numbers, 1, {"--nan", "mean"}},
           // Text
           Case{"city,x,y\nLyon,1,2\nBerne,3,4\nRome,8,9\n", 2},
           Case{"city,x,y,name\nLyon,1,2,a\nBerne,3,4,b\nRome,8,9,c\n", 2},
           Case{"city\nLyon\nBerne\nRome\n", 1},
           Case{"city,name\nLyon,a\nBerne,b\nRome,c\n", 1},
           Case{"day,x,y\n2024-01-02,1,2\n2024-01-03,3,4\n2024-01-04,8,9\n", 1},
           // Other numbers
           Case{"x;y\n1,5;2,5\n3,5;4,25\n8,5;9,0\n", 1},
           Case{"x;y\n1.234,5;2\n3.000,5;4\n8,5;9\n", 1},
           Case{"x;y\n1 234,5;2\n3 000,5;4\n8,5;9\n", 1},
           Case{"x\n\"1,234\"\n\"3,000\"\n7\n", 1},
           Case{"x\n1'234\n3'000\n7\n", 1},
           // The first line
           Case{"x;y\n1,5;2,5\n3,5;4,25\n8,5;-\n", 1},
           Case{"0,1,2\n1,2,5\n3,4,9\n8,8,8\n", 2},
           Case{"x,y\n1,2\n3,4\n1e39,3\n", 1, {"--precision", "f32"}},
       }) {
    INFO(given.table);
    write_bytes(folder / "t.csv", given.table);
    Words words{"cluster", "t.csv", "-k", "2", "--no-advice"};
    words.insert(words.end(), given.more.begin(), given.more.end());
    proposes_what_works(words, given.proposals, there);
  }
}

TEST_CASE("what kith info says about columns of text makes clusters of the others") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  for (const std::string& table :
       {std::string("city,x,y\nLyon,1,2\nBerne,3,4\nRome,8,9\n"),
        "x,y,note\n" + lines(30, "1,2,3\n4,5,6\n") + "1,2,see below\n7,7,also wrong\n5,5,a\n5,5,b\n5,5,c\n",
        "x,note,y\n" + lines(30, "1,,3\n4,,6\n") + "1,see below,3\n"}) {
    INFO(table);
    write_bytes(folder / "t.csv", table);
    const Outcome info = done({"info", "t.csv"}, there);
    const std::string said = info.out.substr(info.out.find("t.csv: "));
    const std::vector<Proposal> proposals = proposals_of(said.substr(0, said.find("\n\n")));
    CHECK(!proposals.empty());
    for (const Proposal& proposal : proposals) {
      INFO(nlohmann::json(proposal.options).dump() << info.out);
      CHECK(run_kith(with(proposal, {"cluster", "t.csv", "-k", "2"}), there).code == 0);
    }
    const Outcome stats = done({"info", "t.csv", "--stats"}, there);
    CHECK(unwrapped(stats.out).find("columns of text are left out: ") != std::string::npos);
    CHECK(stats.out.find("minimum") != std::string::npos);
  }
  write_bytes(folder / "t.csv", "city,name\nLyon,a\nBerne,b\nRome,c\n");
  CHECK(done({"info", "t.csv", "--stats"}, there).out.find("no column holds numbers") != std::string::npos);
}

TEST_CASE("what messages about svmlight files propose reads them") {
  const Scratch folder;
  const Setting there{.folder = folder / ""};
  write_bytes(folder / "a.svm", "1 1:1 2:2\n0 1:9 3:7\n1 2:4 3:1\n");
  write_bytes(folder / "wide.svm", "1 1:1 2:2\n0 1:9 5:7\n");
  done({"cluster", "a.svm", "-k", "2", "-o", "m.h5"}, there);
  proposes_what_works({"assign", "wide.svm", "--centroids", "m.h5"}, 1, there);
  write_bytes(folder / "from0.svm", "1 0:1 1:2\n0 0:9 2:7\n");
  proposes_what_works({"assign", "from0.svm", "--centroids", "m.h5"}, 1, there);
}
