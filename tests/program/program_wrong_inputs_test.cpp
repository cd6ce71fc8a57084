// Wrong inputs of every command, run as a user runs them: what is said of each, with which exit code, and nothing left.
#include "tests/support/wrong_inputs.h"
#include "tests/support/wrong_runs.h"

using namespace kith::testing;

namespace {

const Wrong kTexts[] = {
    {3, "cluster none.h5 -k 2", "none.h5 |  | check the name | no such file | and the directory"},
    {3, "cluster folder -k 2",
     "folder |  | expected a folder with files of points | found none | name the files themselves"},
    {3, "cluster image.png -k 2",
     "image.png |  | expected a file of a known format | found a PNG picture | `kith devices` lists"},
    {3, "cluster none.csv -k 2",
     "none.csv |  | expected rows of numbers | found nothing but blank lines | give a file that"},
    {3, "cluster head.csv -k 1", "head.csv | line 1 | expected rows of numbers | which names columns | --header no"},
    {3, "cluster counts.csv -k 2",
     "counts.csv | line 1 | names of columns, or values? | counts up from 0 | say --header yes or --header no"},
    {3, "cluster named.csv -k 2",
     "named.csv | column 1 ('name'), column 4 ('kind') | expected numbers | 'a' in line 2 | --drop-columns name,kind"},
    {3, "cluster empty_field.csv -k 2",
     "empty_field.csv | line 3, column 2 ('y') | expected a number | found an empty field | with --nan drop"},
    {3, "sweep empty_field.csv -k 2",
     "empty_field.csv | line 3, column 2 ('y') | expected a number | found an empty field | --drop-columns y"},
    {3, "cluster word.csv -k 2",
     "word.csv | line 27, column 2 ('y') | expected a number | found 'none' | correct it, or leave the column out with "
     "--drop-columns y"},
    {3, "cluster ragged.csv -k 2",
     "ragged.csv | line 3 | expected 2 fields (comma-separated), as in line 1 | found 3 | correct the line"},
    {3, "cluster bom.csv -k 2", "bom.csv | line 3 | expected 2 fields | found 1 | name the delimiter with --delimiter"},
    {3, "cluster decimal.csv -k 2",
     "decimal.csv | line 2, column 1 ('x') | expected a number | found '1,5' | say --decimal comma, or "
     "--delimiter comma if it separates fields"},
    {3, "cluster nan.csv -k 2",
     "nan.csv | line 3, column 1 ('x') | expected a finite number | found NaN | with --nan drop"},
    {3, "cluster inf.csv -k 2",
     "inf.csv | line 3, column 2 ('y') | expected a finite number | found infinity | remove the line"},
    {3, "assign huge.csv --centroids p.csv",
     "huge.csv | line 3, column 2 ('y') | expected a finite number | beyond the largest float64 | replace the value"},
    {3, "cluster quote.csv -k 2",
     "quote.csv | line 3, column 2 ('y') | expected a closing quote | its quote is never closed | close it"},
    {3, "cluster p.csv -k 2 --delimiter tab",
     "p.csv | line 2, column 1 ('x,y') | expected a number | found '0,0' | or --delimiter comma if it "
     "separates fields"},
    {3, "cluster /dev/null -k 2",
     "/dev/null |  | expected a file | found a device | give a file, or text on standard input"},
    {3, "cluster utf16.csv -k 2", "utf16.csv |  | expected text in UTF-8 | found UTF-16 text | must be saved as UTF-8"},
    {3, "cluster nul.csv -k 2", "nul.csv | line 2, column 2 | expected a number | found '\\x004' | correct it"},
    {3, "cluster cut.csv.gz -k 2", "cut.csv.gz | its end | damaged gzip file | is missing | copy or download it again"},
    {3, "cluster p.csv:x -k 2", "p.csv | ':x' | expected a text file without a dataset | found ':x' | --columns x"},
};

const Wrong kArrays[] = {
    {3, "cluster pickle.npy -k 2",
     "pickle.npy |  | expected numbers | found Python objects, a pickle, which is never loaded | numpy.save"},
    {3, "cluster text.npy -k 2", "text.npy |  | expected numbers | found text | x.astype"},
    {3, "cluster cut.npy -k 2",
     "cut.npy | 64 bytes | declared as 100 x 4 float32 (1600 bytes) | 64 bytes are stored | copy or save it again"},
    {3, "cluster cube.npy -k 2", "cube.npy |  | expected 2 dimensions | found 3 (2 x 2 x 2) | reshape it"},
    {3, "knn bomb.npy -k 1",
     "bomb.npy | 4294967296 x 4294967296 | expected fewer than 2^60 | more values than can be counted | copy or create "
     "it again"},
    {3, "cluster header.npy -k 2", "header.npy | header | expected 65535 bytes | found 8 | save the array again"},
    {3, "sweep nan.npy -k 2-3",
     "nan.npy | row 3, column 2 (counted from 1) | expected a finite number | found NaN | replace the value or remove "
     "the row"},
    {3, "cluster cut.npz -k 2", "cut.npz | its directory | damaged zip archive | is missing | copy or save it again"},
    {3, "knn changing.fvecs -k 1",
     "changing.fvecs | record 2 (counted from 1) | expected records of 12 bytes | found 4 bytes after | copy or create "
     "it again"},
    {3, "cluster long.fbin -k 2",
     "long.fbin | begin with 2 x 2 | expected a header of rows and columns | found 28 bytes | copy it again, or name "
     "it by its type"},
    {3, "knn p.csv --queries nan.fbin -k 1",
     "nan.fbin | row 2, column 2 (counted from 1) | expected a finite number | found NaN | replace the value"},
};

const Wrong kHdf5[] = {
    {3, "cluster x.h5 -k 2",
     "x.h5 | /nan (2 x 2, float32) | expected one 2-dimensional dataset | found 7 | name one, as in x.h5:/"},
    {3, "cluster x.h5:/nan -k 2",
     "x.h5:/nan | row 2, column 2 (counted from 1) | expected a finite number | found NaN | --nan drop"},
    {3, "cluster x.h5:/vector -k 2",
     "x.h5:/vector |  | expected 2 dimensions | found 1 (4) | store a vector as rows x 1"},
    {3, "assign x.h5:/cube --centroids p.csv",
     "x.h5:/cube |  | expected 2 dimensions | found 3 (2 x 2 x 2) | reshape it"},
    {3, "cluster x.h5:/rows -k 2",
     "x.h5:/rows | 0 x 3 | expected at least 1 row | found none | name a dataset that holds points"},
    {3, "cluster x.h5:/big -k 2",
     "x.h5:/big | row 2, column 1 (counted from 1) | expected an integer that is exactly a float64 | found "
     "9007199254740993 | replace the value"},
    {3, "cluster x.h5:/zero -k 2 --metric cosine",
     "x.h5:/zero | row 2 (counted from 1) | expected rows with a value other than 0 for --metric cosine | is zero | "
     "remove the row"},
    {3, "cluster x.h5:/zero -k 2 --scale unit",
     "x.h5:/zero | row 2 (counted from 1) | for scaling to length 1 | is zero | remove the row"},
    {3, "cluster x.h5:/far -k 2",
     "x.h5:/far | column 1 (counted from 1) | expected columns whose width squared | -1e+200 to 1e+200 | divide the "
     "values"},
    {3, "cluster x.h5:/words -k 2", "x.h5:/words |  | expected numbers | found string | name a dataset of numbers"},
    {3, "cluster x.h5:/group -k 2",
     "x.h5:/group |  | expected a dataset | found a group | the group holds /group/inner"},
    {3, "cluster x.h5:/outside -k 2",
     "x.h5:/outside |  | is not followed | an external link to y.h5:/x | name that file itself"},
    {3, "cluster x.h5:/nothing -k 2",
     "x.h5:/nothing | in / | no such dataset | 'nothing' is not in | which holds big, cube"},
    {3, "info x.h5:/nothing", "x.h5:/nothing | in / | no such dataset | 'nothing' is not in | which holds big, cube"},
    {3, "cluster cut.h5 -k 2", "cut.h5 |  | expected 55080 bytes | truncated | copy or download it again"},
    {3, "info cut.h5", "cut.h5 |  | expected 55080 bytes | found 20000 | copy or download it again"},
    {3, "cluster damaged.h5:/train -k 2",
     "damaged.h5:/train | the chunk of rows 1 to 1797 | data damaged | it inflates to more than | copy or create the "
     "file again"},
};

const Wrong kBeside[] = {
    {3, "cluster p.csv -k 2 --weights w.csv",
     "w.csv:w | row 2 (counted from 1) | expected a weight of 0 or more | found -2 | the weight 0"},
    {3, "cluster p.csv -k 2 --weights w_nan.csv",
     "w_nan.csv:w | row 4 (counted from 1) | expected a weight of 0 or more | found nan | the weight 0"},
    {3, "assign p.csv --centroids p.csv --weights w_inf.csv",
     "w_inf.csv:w | row 3 | expected a weight of 0 or more | found inf | the weight 0"},
    {3, "cluster p.csv -k 2 --weights w_word.csv",
     "w_word.csv:w | row 6 | expected a number as weight | found 'much' | the weight 0"},
    {3, "cluster p.csv -k 2 --weights w_small.csv",
     "w_small.csv:w | row 2 | expected a weight of 0 or of at least | found 1e-30 | give such rows the weight 0"},
    {3, "cluster p.csv -k 2 --weights w0.csv",
     "w0.csv:w | in 6 rows | expected a weight above 0 | found none | leave the weights out"},
    {2, "cluster p.csv -k 2 --weights w5.csv",
     "w5.csv:w |  | expected 6 weights, one for each row of p.csv | found 5 | give every row a weight"},
    {2, "cluster p.csv -k 2 --weights q.csv",
     "q.csv |  | expected the name of the column that holds the weights | found 3 columns: x, y, z | q.csv:COLUMN"},
    {3, "cluster p.csv -k 2 --weights holes.csv:kind",
     "holes.csv | line 3, column 2 ('kind') | expected a weight | found an empty field | fill it in"},
    {3, "cluster p.csv -k 2 --weights digits.h5:/train",
     "digits.h5:/train |  | expected weights, one number for each row | found 1797 x 64 | name a vector"},
    {2, "cluster p.csv --init-labels l5.csv",
     "--init-labels l5.csv:label |  | expected 6 labels, one for each row of p.csv | found 5 | give every row a label"},
    {3, "cluster p.csv --init-labels noise.csv",
     "noise.csv:label | row 3 (counted from 1) | expected the label of a cluster | found none or -1 | give these "
     "rows a label"},
    {2, "cluster p.csv -k 2 --init q.csv",
     "--init q.csv |  | expected 2 centroids of 2 columns, for -k and p.csv | found 3 x 3 | give centroids of "
     "points like these"},
    {3, "cluster p.csv --init nan.csv",
     "nan.csv | line 3, column 1 ('x') | expected a finite number | found NaN | replace the value"},
    {2, "cluster p.csv -k 5 --freeze q.csv",
     "--freeze q.csv |  | expected centroids of 2 columns, as p.csv has | found 3 x 3 | give centroids of points like "
     "these"},
    {3, "assign q.csv --columns x,y,z --centroids p.csv",
     "q.csv | column 3 (counted from 1) | expected 2 columns | found 3 | --columns x,y"},
    {3, "assign p.csv --centroids q.csv",
     "p.csv | column 3 (counted from 1) | expected 'z' | found only 2 | choose the columns that were clustered with "
     "--columns"},
    {3, "assign nan.npy --centroids q.csv",
     "q.csv |  | expected 2 columns, as nan.npy has | found 3 | choose columns of the points with --columns"},
    {3, "assign p.csv --centroids none.h5", "none.h5 |  | check the name | no such file | and the directory"},
    {3, "knn q.csv --queries p.csv -k 1",
     "p.csv |  | expected a column 'z' | found none among x, y | give that name to one column"},
    {3, "knn q.csv --queries x.h5:/ok -k 1",
     "x.h5:/ok |  | expected 3 columns, as q.csv has | found 2 | give queries of the same columns"},
    {3, "knn p.csv -k 2 --truth q.csv",
     "q.csv |  | expected 6 lists, one for each query | found 3 | give the answer to these queries"},
    {3, "knn p.csv -k 1 --truth x.h5:/lists",
     "x.h5:/lists | row 6, column 1 (counted from 1) | expected a row number of BASE, 0 to 5 | found "
     "6 | give the answer for this BASE"},
    {3, "distances q.csv p.csv",
     "p.csv |  | expected a column 'z' | found none among x, y | give that name to one column"},
    {3, "distances q.csv x.h5:/ok",
     "x.h5:/ok |  | expected 3 columns, as q.csv has | found 2 | give points of the same columns"},
    {3, "evaluate l5.csv --truth l.csv",
     "--truth l.csv:label |  | expected 5 rows, one for each label of l5.csv:label | found 6 | give the classes of the "
     "clustered rows"},
    {3, "evaluate words.csv --truth words.csv",
     "words.csv | line 1 | is 'x' the name of the column or a label | as it is further down | say --header yes or "
     "--header no"},
    {3, "evaluate x.h5:/half --truth l.csv",
     "x.h5:/half | row 2 (counted from 1) | expected a whole number, as labels and identifiers are | found 0.5 | name "
     "the "
     "dataset that holds them"},
    {3, "evaluate digits.h5:/train --truth l.csv",
     "digits.h5:/train |  | expected labels, one for each row, as --truth l.csv | found a matrix | FILE:/neighbors of "
     "a"},
    {3, "evaluate l.csv --truth digits.h5:/train",
     "digits.h5:/train |  | expected labels, one number for each row | a matrix of 1797 x 64 | name the vector"},
    {3, "evaluate x.h5 --truth l.csv", "x.h5:/labels | in / | no such dataset | 'labels' is not in | which holds big"},
    {2, "evaluate holes.csv --truth l.csv",
     "holes.csv |  | expected the name of the column that holds the labels | found 2 columns: id, kind | "
     "holes.csv:COLUMN"},
    {3, "evaluate l5.csv --points p.csv",
     "--points p.csv |  | expected 5 rows, one for each label of l5.csv:label | found 6 | give the labelled "
     "points"},
    {3, "evaluate same.csv --points p.csv",
     "same.csv:label |  | need 2 to n - 1 clusters with rows | found 6 rows in 1 | known classes with --truth"},
    {3, "report digits.h5",
     "digits.h5 | the attribute `format` | expected a result of kith | found none | `kith cluster ... -o RESULT.h5` "
     "writes one"},
    {3, "report none.h5", "none.h5 |  | check the name | no such file | and the directory"},
};

}  // namespace

TEST_CASE("wrong inputs are refused: file, place, expected, found, remedy, and nothing is written") {
  const Scratch folder;
  make_wrong_inputs(folder);
  SECTION("texts") { refuse_all(folder, kTexts); }
  SECTION("arrays") { refuse_all(folder, kArrays); }
  SECTION("HDF5") { refuse_all(folder, kHdf5); }
  SECTION("weights, labels, centroids, results") { refuse_all(folder, kBeside); }
}
