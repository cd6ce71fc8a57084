#!/usr/bin/env bash
# Runs the examples of the README with a kith from a package, in a new folder and with an empty environment, and looks for
# other files of the package: packaged.sh PREFIX [FILE...], for PREFIX/bin/kith, kith-bench and PREFIX/share/FILE.
set -euo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd) prefix=$(cd -- "$1" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/samples"
cp "$source/samples/digits.h5" "$folder/samples"
cd "$folder"
mapfile -t examples < <(sed -n 's/^    \$ \(kith .*\)/\1/p' "$source/README.md")
((${#examples[@]} == 5)) || { echo "packaged: expected 5 examples in README.md, found ${#examples[@]}" >&2; exit 1; }
for example in "${examples[@]}"; do
  echo "$ $example"
  env -i PATH="$prefix/bin:/usr/bin:/bin" HOME="$folder" bash -c "$example" >out 2>&1 ||
    { echo "packaged: exit code $?" >&2; cat out >&2; exit 1; }
done
for file in clusters.h5 neighbors.h5; do "$prefix/bin/kith" info --verify $file >/dev/null; done
grep -q '<svg' page.html
# No library comes from the current folder, as it would with an empty element in RUNPATH.
# auditwheel puts a script of Python before a program whose libraries it adds to a wheel.
{ ldd "$prefix/bin/kith" 2>/dev/null || true; } | while read -r library _; do [[ $library == */* ]] || : >"$library"; done
[[ ! -d $prefix/share ]] || "$prefix/bin/kith" bench >/dev/null ||  # the one file has neither pages nor kith-bench
  { echo 'packaged: kith-bench is missing' >&2; exit 1; }
"$prefix/bin/kith" --version >/dev/null || { echo 'packaged: kith loads libraries from the current folder' >&2; exit 1; }
for file in "${@:2}"; do
  [[ -s $prefix/share/$file ]] || { echo "packaged: $prefix/share/$file is missing" >&2; exit 1; }
done
echo 'All examples ran.'
