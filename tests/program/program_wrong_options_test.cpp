// Wrong options of every command, run as a user runs them: what is said of each, with which exit code, and nothing
// left.
#include <sstream>

#include "tests/support/wrong_inputs.h"
#include "tests/support/wrong_runs.h"

using namespace kith::testing;

namespace {

const Wrong kNames[] = {
    {2, "clutser p.csv -k 2", "unknown command 'clutser' | | 'cluster' | | see kith --help"},
    {2, "--quiet cluster p.csv -k 2", "before --quiet | | expected a command | | kith COMMAND --quiet"},
    {2, "cluster -k 2", "POINTS | | the file to cluster | is missing | for example: kith cluster"},
    {2, "cluster p.csv", "-k | | the number of clusters | is missing | for example: kith cluster"},
    {2, "cluster p.csv -k", "--clusters | | expected one value | found the option -o | see kith cluster --help"},
    {2, "cluster p.csv -k --seed 3", "--clusters | | expected one value | found the option --seed | see kith"},
    {2, "cluster p.csv other -k 2", "unexpected argument | 'other' | usage: kith cluster POINTS | |"},
    {2, "cluster p.csv -kk 2", "unexpected argument '2' | after -kk | -k with the value 'k' | | did you mean -k 2?"},
    {2, "cluster -kk 2", "-k/--clusters | | expected a whole number | found 'k' |"},
    {2, "cluster p.csv -k 2 --max-iteratoins 3", "--max-iteratoins | | nearest is --max-iterations | unknown | see"},
    {2, "knn p.csv -K 3", "unknown option -K | | the nearest is -k | | see kith knn --help"},
    {2, "info p.csv --tsats", "--tsats | | the nearest is --stats | unknown option | see kith info --help"},
    {2, "devices --threads 3", "--threads | | unknown option --threads; see kith devices --help | | "},
    {2, "predict p.csv", "unknown command 'predict' | | the nearest is 'assign' | | see kith --help"},
    {2, "cluster p.csv --random-state 3",
     "--random-state | | the nearest is --seed | unknown option --random-state; | see kith"},
    {2, "cluster p.csv -k 2 --backend gpu", "--backend | | expected auto, | found 'gpu' | the nearest is cuda"},
    {2, "knn p.csv -k 1 --metric l1", "--metric | | expected euclidean, | found 'l1' | the nearest is manhattan"},
    {2, "cluster p.csv -k 2 --scale standard", "--scale | | expected none, | found 'standard' | the nearest is zscore"},
    {2, "cluster p.csv --ninit 3", "--ninit | | the nearest is --n-init | unknown option | see kith"},
    {2, "cluster p.csv --max-iter 3", "--max-iter | | the nearest is --max-iterations | unknown option | see kith"},
    {2, "cluster p.csv --xyzzy 3", "unknown option | | --xyzzy; see kith | | see kith cluster --help"},
    {2, "cluster p.csv --n_clusters 3", "--n_clusters | | the nearest is --clusters | unknown option |"},
    {2, "info", "FILE | | for example: kith info points.h5 | is missing |"},
    {2, "distances -q", "A, the file with the points | | for example: kith distances | is missing |"},
    {2, "evaluate --truth l.csv", "LABELS | | the file with the labels | is missing | for example: kith evaluate"},
    {2, "evaluate l.csv", "--truth or --points | | for example: kith evaluate | is missing |"},
    {2, "report -q", "RESULT | | the file with the result | is missing | for example: kith report"},
    {2, "generate", "OUT | | the file to write | is missing | for example: kith generate"},
    {2, "assign p.csv", "--centroids | | for example: kith assign | is missing |"},
    {2, "sweep p.csv", "-k | | the numbers of clusters | is missing | for example: kith sweep"},
    {2, "knn p.csv", "-k | | the number of neighbours, or --radius | is missing | for example: kith knn"},
    {2, "bench asign", "suite 'asign' | | the nearest is assign | unknown | kith bench lists the suites"},
};

const Wrong kValues[] = {
    {2, "cluster p.csv -k 7", "-k 7 | p.csv | expected at most 6 clusters | has only 6 rows |"},
    {2, "cluster p.csv -k 2.5", "--clusters | | expected a whole number from 1 to 2147483647 | found '2.5' |"},
    {2, "cluster p.csv -k 2 --tolerance -1", "--tolerance | | expected 0 or more | found -1 |"},
    {2, "cluster p.csv -k 2 --tolerance nan", "--tolerance | | expected a number such as 0.5 | found 'nan' |"},
    {2, "cluster p.csv -k 2 --init randm",
     "--init | | expected k-means++ | 'randm', which is neither a rule nor an existing file | the nearest is random"},
    {2, "cluster p.csv -k 2 --empty remove", "--empty | | expected relocate, keep, drop, error | 'remove' |"},
    {2, "cluster p.csv -k 2 --scale robust", "--scale | | expected none, zscore, minmax, unit | 'robust' |"},
    {2, "cluster p.csv -k 2 --pca 3", "--pca | p.csv | expected at most 2 components | 6 rows of 2 columns |"},
    {2, "cluster p.csv -k 2 --nan maybe", "--nan | | expected error, drop | found 'maybe' |"},
    {2, "cluster p.csv -k 2 --metric manhattan",
     "--metric manhattan | | k-means supports euclidean, cosine and correlation | a mean does not minimise other "
     "distances | kith "
     "knn, kith dbscan and kith distances"},
    {2, "knn p.csv -k 2 --metric minkowski", "--metric | | expected euclidean, cosine, | found 'minkowski' |"},
    {2, "cluster p.csv -k 2 --metric jaccard",
     "--metric jaccard | | k-means supports euclidean, cosine and correlation | a mean does not minimise other "
     "distances | kith "
     "knn, kith dbscan and kith distances"},
    {2, "knn p.csv -k 2 --bits 16", "--bits 16 | | expected --metric hamming or jaccard | leave --bits out | "},
    {2, "knn p.csv -k 2 --metric hamming --scale zscore",
     "--scale | | --metric hamming | are bits | leave --scale out"},
    {2, "cluster p.csv -k 2 --backend cdua", "--backend | | expected auto, cpu, cuda | 'cdua' | nearest is cuda"},
    {2, "cluster p.csv -k 2 --screen fast", "--screen | | expected auto, wgmma, mma, float32 | 'fast' |"},
    {2, "cluster p.csv -k 2 --threads -2", "--threads | | expected a whole number from 0 to 4096 | found '-2' |"},
    {2, "cluster p.csv -k 2 --memory 4XB", "--memory | | expected a size such as 4GB | found '4XB' |"},
    {2, "cluster p.csv -k 2 --memory 16EB", "--memory | GiB or TiB | from 1 byte to below 4194304TiB | found '16EB' |"},
    {2, "cluster p.csv -k 2 --memory 1e-5GB", "--memory | | a number without an exponent in B, kB | found '1e-5GB' |"},
    {2, "cluster p.csv -k 2 --memory 9999999TiB", "--memory | | to below 4194304TiB | found '9999999TiB' |"},
    {2, "cluster p.csv -k 2 --seed 18446744073709551616",
     "--seed | | expected a whole number from 0 to 18446744073709551615 | found '18446744073709551616' |"},
    {2, "cluster p.csv -k 2 --seed -1", "--seed | | expected a whole number from 0 to | found '-1' |"},
    {2, "knn p.csv -k 18446744073709551616", "--neighbors | | expected a whole number from 1 to | found |"},
    {6, "cluster p.csv -k 2 --memory 100",
     "--memory | p.csv | needs about | only 100 bytes are allowed by --memory | give a larger --memory, or fewer rows"},
    {2, "cluster p.csv -k 2 --precision f16", "--precision | | expected auto, f32, f64 | 'f16' |"},
    {2, "KITH_CLUSTERS=many cluster p.csv", "KITH_CLUSTERS | | expected a whole number from 1 | found 'many' |"},
    {2, "sweep p.csv -k 2,5-2", "-k | | expected numbers of clusters as in 2-10, 2,4,8 | found '5-2' |"},
    {2, "sweep p.csv -k 2-7", "-k 2-7 | p.csv | expected at most 6 clusters | has only 6 rows |"},
    {2, "sweep p.csv -k 2-4 --init p.csv", "--init | | expected k-means++, | found 'p.csv' |"},
    {2, "sweep p.csv -k 2-4 --gap 0", "--gap | | expected a whole number from 1 to 10000 | found '0' |"},
    {2, "assign p.csv --centroids p.csv --top 7", "--top 7 | p.csv | expected at most 6 | has 6 centroids |"},
    {2, "knn p.csv -k 6",
     "-k 6 | p.csv | expected at most 5 neighbours | has 5 rows besides the query | --include-self"},
    {2, "knn p.csv -k 7 --include-self", "-k 7 | p.csv | expected at most 6 neighbours | has 6 rows; |"},
    {2, "knn p.csv --radius -1",
     "--radius | radius -1 | expected a finite number, 0 or above | | unit of the distances"},
    {2, "evaluate l.csv --points p.csv --sample 0",
     "--sample | | expected a whole number from 1 to 9223372036854775807 | found '0' |"},
    {2, "generate y.h5 -n 10 -k 11", "--clusters | | expected at most 10, the number of points | found 11 |"},
    {2, "generate y.h5 -n 4294967296 -d 4294967296",
     "--rows x --columns | | expected less than 2^60 values | found 4294967296 x 4294967296 | give smaller numbers"},
    {2, "generate y.h5 -n 0", "--rows | | expected a whole number from 1 | found '0' |"},
    {2, "generate y.h5 --kind cubes", "--kind | | expected noise, blobs, uniform, shells, | found 'cubes' |"},
    {2, "generate y.h5 --duplicates 1", "--duplicates | | expected a share from 0 to below 1 | found 1 |"},
    {2, "generate y.h5 --offset 1e39", "--offset | | expected a number from | found 1e+39 | give --type float64"},
    {2, "generate y.h5 --type uint8 --offset 3", "--offset | | expected 0 with --type uint8 | found 3 |"},
    {2, "generate y.h5:/labels",
     "y.h5:/labels | | expected a dataset at the root of the file other | | such as /points"},
    {2, "bench assign --data cubes", "--data | | expected noise, blobs, | found 'cubes' |"},
    {2, "bench assign --shape 10x3", "--shape | | expected NxD,K | found '10x3' |"},
};

const Wrong kColumns[] = {
    {2, "cluster p.csv -k 2 --columns z",
     "--columns | p.csv | expected columns of p.csv | 'z' is neither a column's name nor a number | 1 to 2: x, y"},
    {2, "cluster holes.csv -k 2 --columns knid",
     "--columns | holes.csv | expected columns of holes.csv | 'knid' is no column's name | the nearest is 'kind'"},
    {2, "cluster p.csv -k 2 --columns 3", "--columns | p.csv | expected columns | '3' does not exist | 1 to 2: x, y"},
    {2, "cluster p.csv -k 2 --columns x,x", "--columns | column 1 | expected columns | 'x,x' names | 1 to 2: x, y"},
    {2, "cluster p.csv -k 2 --columns 2-1", "--columns | p.csv | expected | '2-1' goes backwards | 1 to 2: x, y"},
    {2, "cluster p.csv -k 2 --drop-columns x,y",
     "--drop-columns | p.csv | expected at least one | keep none of 2 columns | drop fewer"},
    {2, "cluster p.csv -k 2 --id-column z", "--id-column | p.csv | expected columns of p.csv | 'z' | x, y"},
    {2, "cluster p.csv -k 2 --weight-column z", "--weight-column | p.csv | expected columns | 'z' | x, y"},
    {2, "cluster x.h5:/ok -k 2 --weight-column z",
     "--weight-column z | x.h5:/ok | expected a text file | is not text | choose columns with --columns"},
    {2, "cluster p.csv -k 2 --delimiter xx", "--delimiter | | expected auto, comma, tab, | found 'xx' |"},
    {2, "cluster p.csv -k 2 --header maybe", "--header | | expected auto, yes, no | found 'maybe' |"},
    {2, "evaluate l.csv --truth holes.csv:species",
     "holes.csv:species | holes.csv | expected columns of holes.csv | 'species' is neither a column's name nor | 1 to "
     "2: id, "
     "kind"},
};

const Wrong kTogether[] = {
    {2, "cluster p.csv --init first --init-labels l.csv",
     "--init-labels | | cannot be combined with --init | | leave one of them out"},
    {2, "cluster p.csv -k 3 --init-labels l.csv",
     "--init-labels l.csv:label | | expected 3 different labels, for -k, | found 2 | leave out -k"},
    {2, "cluster p.csv -k 1 --freeze p.csv", "-k 1 | --freeze p.csv | expected at least that many | has 6 |"},
    {2, "cluster p.csv -k 6 --algorithm bisecting --freeze p.csv",
     "--freeze | | cannot be combined with --algorithm bisecting | which moves all centroids | leave one of them out"},
    {2, "cluster p.csv -k 6 --algorithm bisecting --init p.csv",
     "--init FILE | | cannot be combined with --algorithm bisecting | which begins with one cluster | leave one of "
     "them out"},
    {2, "cluster p.csv -k 2 --algorithm bisecting --batch 3",
     "--batch | | cannot be combined with --algorithm bisecting | which splits all rows at once | leave one of them "
     "out"},
    {2, "cluster p.csv -k 2 --balance --min-size 4",
     "--min-size | smallest cluster size 4 | expected at most 3 | 6 rows in 2 clusters |"},
    {2, "cluster p.csv -k 2 --balance --max-size 2",
     "--max-size | largest cluster size 2 | expected at least 3 | 6 rows in 2 clusters |"},
    {2, "cluster p.csv -k 2 --balance --min-size 3 --max-size 2",
     "--min-size or --max-size | smallest cluster size 3 | expected at most the largest cluster size, 2 | |"},
    {2, "cluster p.csv -k 2 --weights w5.csv --weight-column y",
     "--weights | | cannot be combined with --weight-column | | leave one of them out"},
    {2, "cluster q.csv -k 2 --weight-column z --batch 2",
     "--batch | | cannot be combined with weights | | leave one of them out"},
    {2, "cluster q.csv -k 2 --weight-column z --scale zscore",
     "--scale zscore and minmax | | cannot be combined with weights | use --scale unit | prepare the points "
     "beforehand"},
    {2, "cluster q.csv -k 2 --weight-column z --pca 1",
     "--pca | | cannot be combined with weights | | prepare the points beforehand"},
    {2, "cluster p.csv -k 4 --pca 1 --freeze q.csv",
     "--freeze q.csv | | expected centroids of 1 column, as p.csv has after --pca | found 3 x 3 |"},
    {2, "knn p.csv -k 1 --radius 1", "--radius | | cannot be combined with -k | | leave one of them out"},
    {2, "knn p.csv -k 1 --symmetric --mutual",
     "--symmetric | | cannot be combined with --mutual | | leave one of them out"},
    {2, "knn p.csv --radius 1 --mutual", "--mutual | | cannot be combined with --radius | | leave one of them out"},
    {2, "knn p.csv -k 1 --graph --queries p.csv",
     "--graph | | cannot be combined with --queries | | leave one of them out"},
    {2, "knn p.csv -k 1 --components", "--components | | expected --radius R, --min-cosine C or --graph | |"},
    {2, "knn p.csv --radius 1 --components --queries p.csv",
     "--components | | cannot be combined with --queries | | leave one of them out"},
    {2, "knn p.csv --radius 1 --truth p.csv",
     "--truth | | cannot be combined with a graph | compares the lists of -k | leave --truth out"},
    {2, "knn p.csv --radius 1 --format ivecs",
     "--format | | expected kith, or an output name that ends with .csv, | found ivecs |"},
    {2, "knn p.csv --radius 1 -o y.ivecs", "--format | | an output name that ends with .csv, for a graph | y.ivecs |"},
    {2, "knn p.csv -k 1 --format ann-benchmarks", "--format ann-benchmarks | | expected --queries | |"},
    {2, "knn p.csv -k 1 --queries p.csv --metric manhattan --format ann-benchmarks",
     "--format ann-benchmarks | | expected --metric euclidean or cosine | found manhattan |"},
    {2, "bench assign --shape 10x3,11", "--shape | 10 x 3, 11 | expected at most 10 centroids | found 11 |"},
};

const Wrong kFiles[] = {
    {2, "cluster p.csv -k 2 --config none.toml",
     "none.toml | | expected a configuration file that can be read | No such file | check the name after --config"},
    {2, "cluster p.csv -k 2 --config kith.toml", "kith.toml | :3 | the nearest is 'seed' | unknown option 'sede' |"},
    {2, "cluster p.csv --config many.toml", "many.toml | :2: clusters | expected a whole number | found 'many' |"},
    {5, "cluster p.csv -k 2 -o p.csv -f", "p.csv | | never overwritten | is the input p.csv | choose another name"},
    {5, "cluster p.csv -k 2 -o x.h5", "x.h5 | | use -f/--force to replace it | exists | or choose another name"},
    {5, "sweep p.csv -k 2-3 -o folder", "folder | | expected a new or regular file | a directory | give a file name"},
    {5, "sweep p.csv -k 2-3 -o folder/", "folder/ | | expected a file name | a directory name | name a file in it"},
    {5, "cluster p.csv -k 2 -o /dev/null -f", "/dev/null | | expected a new or regular file | a device | give a file"},
    {5, "knn p.csv -k 2 -o -", "- | | expected a file name | found standard output | give a file name"},
    {5, "cluster p.csv -k 2 -o no/such/out.h5",
     "no/such/out.h5 | | the directory no/such | does not exist | create it with `mkdir -p no/such`"},
    {5, "knn p.csv -k 2 -o y.txt", "y.txt | | expected the name of an HDF5 file | y.txt | a name that ends with .h5"},
    {5, "knn p.csv --radius 1 --components -o y.mtx",
     "y.mtx | | expected the name of an HDF5 file | y.mtx | a name that ends with .h5"},
    {5, "sweep p.csv -k 2-3 -o y.npy", "y.npy | | expected the name of an HDF5 file | y.npy | ends with .h5"},
    {5, "generate y.fvecs", "y.fvecs | | expected the name of an HDF5 file | y.fvecs | .h5 or .npy or .csv"},
    {5, "cluster p.csv -k 2 --config good.toml -o good.toml -f",
     "good.toml | | never overwritten | is the input good.toml | choose another name"},
    {5, "cluster p.csv -k 2 -o y.XLSX", "y.XLSX | | expected the name of an HDF5 file | y.XLSX | .h5 or .csv or .npy"},
    {5, "cluster p.csv -k 2 --write-obs km -o y.csv",
     "y.csv | | expected the name of an HDF5 file | y.csv | ends with .h5"},
    {5, "cluster p.csv -k 2 --weights l5.csv -o l5.csv -f",
     "l5.csv | | never overwritten | is the input l5.csv | choose another name"},
    {5, "generate y.h5 --kind uniform -n 1099511627776 -d 4000",
     "y.h5 | | of disk space, | more than is free in | free some or choose another place"},
};

}  // namespace

TEST_CASE("wrong options are refused: option, expected, found, remedy, and nothing is written") {
  const Scratch folder;
  make_wrong_inputs(folder);
  write_bytes(folder / "kith.toml", "threads = 1\n\nsede = 2\n");
  write_bytes(folder / "good.toml", "seed = 1\n");
  write_bytes(folder / "many.toml", "[cluster]\nclusters = many\n");
  SECTION("names") { refuse_all(folder, kNames); }
  SECTION("values") { refuse_all(folder, kValues); }
  SECTION("columns") { refuse_all(folder, kColumns); }
  SECTION("options that do not go together") { refuse_all(folder, kTogether); }
  SECTION("configurations and outputs") { refuse_all(folder, kFiles); }
}

TEST_CASE("rows that were left out are named where too few are left, and labels that they had") {
  const Scratch folder;
  write_bytes(folder / "p.csv", "x,y\n1,2\n3,\n5,6\n");
  write_bytes(folder / "l.csv", "label\na\nb\na\n");
  const Setting here{.folder = folder.path()};
  const Words left_out{"p.csv has 3 rows, of which 1 is ignored (dropped by --nan", "expected at most 2 clusters"};
  refuses(2, {"cluster", "p.csv", "-k", "3", "--nan", "drop"}, left_out, here);
  refuses(2, {"sweep", "p.csv", "-k", "3", "--nan", "drop"}, left_out, here);
  refuses(3, {"cluster", "p.csv", "--init-labels", "l.csv", "--nan", "drop"},
          {"--init-labels l.csv:label", "found all rows of the label b ignored", "give its rows other labels"}, here);
}

TEST_CASE("a page is written neither over its points nor under a name of data") {
  const Scratch folder;
  write_bytes(folder / "p.html", "x,y\n0,0\n1,0\n2,0\n10,0\n");  // one iteration is not enough
  const Setting here{.folder = folder.path()};
  const auto iterate = [&](const std::string& limit) {
    return done({"cluster", "p.html", "-k", "2", "--init", "first", "--max-iterations", limit, "-f", "-o", "r s.h5"},
                here);
  };
  const Outcome no_more = iterate("2"), stopped = iterate("1");
  CHECK(no_more.says("no label changed in the"));
  CHECK(!no_more.says("still change"));
  CHECK(stopped.says("2 labels still changed"));
  CHECK(stopped.says("continue with: kith cluster --init 'r s.h5'"));
  refuses(5, {"report", "r s.h5", "-o", "p.html", "-f"}, {"p.html: is the input", "never overwritten"}, here);
  refuses(5, {"report", "r s.h5", "-o", "p.csv"}, {"p.csv: expected the name of an HTML page", ".html"}, here);
  CHECK(files_in(folder) == Words{"p.html", "r s.h5"});
}

TEST_CASE("a value that resembles no choice gets no suggestion") {
  const Scratch folder;
  make_wrong_inputs(folder);
  const Setting here{.folder = folder.path()};
  for (const Words& words : {Words{"--scale", "robust"}, Words{"--metric", "minkowski"}, Words{"--header", "maybe"},
                             Words{"--init", "p9"}, Words{"--algorithm", "yinyang"}}) {
    Words command{"cluster", "p.csv", "-k", "2"};
    command.insert(command.end(), words.begin(), words.end());
    const Outcome outcome = run_kith(command, here);
    CHECK(outcome.code == 2);
    CHECK(outcome.says("found '" + words[1] + "'"));
    CHECK(!outcome.says("nearest"));
  }
}

TEST_CASE("words of other programs are answered with those of kith, and no others") {
  for (const auto& [line, name] : {std::pair{"cluster --restarts 3", "--n-init"},
                                   {"cluster --dtype x", "--precision"},
                                   {"cluster --one-hot", "--encode"},
                                   {"knn --query x", "--queries"},
                                   {"knn --top-k 3", "--neighbors"},
                                   {"sweep --k-max 9", "--clusters"},
                                   {"cluster --whiten", "--scale"},
                                   {"cluster --algorithm elkan", "lloyd"},
                                   {"cluster --header true", "yes"},
                                   {"evaluate --silhouette full", "exact"},
                                   {"silhouette", "'evaluate'"},
                                   {"kmean", "'cluster'"},
                                   {"neighbours", "'knn'"},
                                   {"umap", ""},
                                   {"cluster --zip", ""},
                                   {"cluster --svg x", ""}}) {
    INFO(line);
    Words words;
    std::istringstream stream(line);
    for (std::string word; stream >> word;) words.push_back(word);
    const Outcome outcome = run_kith(words);
    CHECK(outcome.code == 2);
    const std::string nearest = "the nearest is ";
    CHECK(outcome.says(nearest + name) != (*name == '\0'));
    CHECK(outcome.says(nearest) == (*name != '\0'));
  }
}

TEST_CASE("the help of --output names what the command can write") {
  for (const char* command : {"knn", "sweep", "distances", "evaluate"}) {
    CHECK(unwrapped(done({command, "--help"}).out).find("only the labels") == std::string::npos);
  }
  for (const char* command : {"cluster", "assign"}) {
    CHECK(unwrapped(done({command, "--help"}).out).find("only the labels") != std::string::npos);
  }
}
