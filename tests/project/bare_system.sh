#!/usr/bin/env bash
# Installs kith on a bare system, uses it as a plain user, removes it, and lists what is left. As root, with
# debootstrap:
#   tests/project/bare_system.sh FOLDER [SUITE] PACKAGE...
# PACKAGE is a .deb, a tarball, a wheel, the program as one file, or a Containerfile, whose steps are run here. SUITE is
# one of Debian or Ubuntu, by default bookworm. FOLDER keeps the bare system; every trial is in a layer above it.
# KITH_PACKAGES, a folder with finished packages, takes the place of the long step of a Containerfile that makes them.
# KITH_MIRROR, where debootstrap finds packages, is needed for Ubuntu on a Debian that lacks the keys of Ubuntu.
set -euo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
(($# >= 2)) || { sed -n '2,8p' "${BASH_SOURCE[0]}" >&2; exit 2; }
folder=$(mkdir -p "$1" && cd "$1" && pwd) suite=bookworm mounted=()
shift
if [[ $1 =~ ^[a-z]+$ ]]; then suite=$1; shift; fi
base=$folder/$suite layer=$folder/layer root=$folder/root
step() { printf '\n==> %s\n' "$*"; }
fail() { printf 'bare_system: %s\n' "$*" >&2; exit 1; }
unmount() {
  local at
  for ((at = ${#mounted[@]} - 1; at >= 0; --at)); do umount "${mounted[at]}" || umount -l "${mounted[at]}"; done
  mounted=()
}
trap unmount EXIT
bind() { mkdir -p "$2"; mount --bind "$1" "$2"; mounted+=("$2"); }

# A fresh copy of the bare system at $root, with a plain user.
fresh() {
  SECONDS=0
  unmount
  rm -rf "$layer"
  mkdir -p "$layer"/{upper,work} "$root"
  mount -t overlay overlay -o "lowerdir=$base,upperdir=$layer/upper,workdir=$layer/work" "$root"
  mounted+=("$root")
  mount -t proc proc "$root/proc" && mounted+=("$root/proc")
  bind /dev "$root/dev"
  mount -t devpts devpts -o newinstance,ptmxmode=0666,mode=0620 "$root/dev/pts" && mounted+=("$root/dev/pts")
  cp /etc/resolv.conf "$root/etc/resolv.conf"
}
as_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
as_user() { chroot --userspec=user:user "$root" env -i PATH=/usr/bin:/bin HOME=/home/user TERM=dumb "$@"; }
quietly() { "$@" >"$folder/log" 2>&1 || { tail -20 "$folder/log" >&2; fail "$*"; }; }
# Files, without what apt and dpkg keep about packages.
files() {
  local kept=() name
  for name in proc dev run var/lib/apt var/lib/dpkg var/cache var/log; do kept+=(-not -path "./$name/*"); done
  (cd "$root" && find . -xdev "${kept[@]}" | sort)
}
left() {
  files | diff "$folder/before" - || fail 'These files are left.'
  echo "Nothing is left. It took $SECONDS s."
}
# The examples, and what the README names, in the home of the user.
examples() {  # PREFIX [FILE...]
  mkdir -p "$root/home/user/clone/tests/project"
  cp -r "$source/README.md" "$source/samples" "$root/home/user/clone"
  cp "$source/tests/project/packaged.sh" "$root/home/user/clone/tests/project"
  as_user /home/user/clone/tests/project/packaged.sh "$@"
  rm -rf "$root/home/user/clone"
}

bare() {
  [[ -e $base/.complete ]] && return
  step "A bare system ($suite)"
  rm -rf "$base"
  local scripts=$folder/debootstrap words=()
  rm -rf "$scripts"
  cp -r /usr/share/debootstrap "$scripts"
  # What debootstrap does not know is a later release of Ubuntu: Debian 12 has none after 22.10.
  [[ -e $scripts/scripts/$suite ]] || ln -s jammy "$scripts/scripts/$suite"
  if grep -q ubuntu "$scripts/scripts/$suite"; then words=(--components=main,universe); fi
  quietly env DEBOOTSTRAP_DIR="$scripts" debootstrap --variant=minbase "${words[@]}" "$suite" "$base" ${KITH_MIRROR:-}
  printf '#!/bin/sh\nexit 101\n' >"$base/usr/sbin/policy-rc.d"
  chmod +x "$base/usr/sbin/policy-rc.d"
  id=$(chroot "$base" id -nu 1000 2>/dev/null) && chroot "$base" userdel -r "$id"
  chroot "$base" useradd --create-home --uid 1000 --shell /bin/bash user
  cp /etc/resolv.conf "$base/etc/resolv.conf"
  quietly chroot "$base" apt-get update
  touch "$base/.complete"
}

# Types into a bash that has loaded the completion of the system: the command runs only if all of it was completed.
completion_in_terminal() {
  printf '. /usr/share/bash-completion/bash_completion\nPS1="> "\n' >"$root/home/user/start"
  { sleep 2; printf 'kith comple\tz\t> out\n'; sleep 2; printf 'exit\n'; sleep 1; } |
    as_user script -qec 'cd; bash --noprofile --rcfile start -i' /dev/null >"$folder/terminal" || true
  grep -q compdef "$root/home/user/out" || { cat "$folder/terminal" >&2; fail 'bash did not complete.'; }
  rm -f "$root"/home/user/{start,out,.bash_history}
  echo 'bash completed `kith comple<tab> z<tab>`.'
}

try_deb() {
  step "$(basename "$1")"
  fresh
  quietly as_root apt-get install -y man-db bash-completion
  files >"$folder/before"
  cp "$1" "$root/tmp/"
  quietly as_root apt-get install -y --no-install-recommends "/tmp/$(basename "$1")"
  rm "$root/tmp/$(basename "$1")"
  as_user kith --version --verbose
  examples /usr man/man1/kith-cluster.1.gz
  as_user man kith-cluster | grep -c -e '^ *--' | sed 's/$/ options in man kith-cluster/'
  completion_in_terminal
  quietly as_root apt-get purge -y "$(dpkg-deb --field "$1" Package)"
  quietly as_root apt-get autoremove -y --purge
  left
}

# kith-mpi recommends openmpi-bin, which starts its processes.
try_mpi_deb() {
  step "$(basename "$1")"
  fresh
  files >"$folder/before"
  cp "$1" "$root/tmp/"
  quietly as_root apt-get install -y --no-install-recommends "/tmp/$(basename "$1")" openmpi-bin
  rm "$root/tmp/$(basename "$1")"
  cp "$source/samples/digits.h5" "$root/home/user/"
  as_user mpirun -n 2 --oversubscribe kith-mpi cluster /home/user/digits.h5 -k 10 -o /home/user/clusters.h5
  rm -rf "$root"/home/user/{digits.h5,clusters.h5,.openmpi,.cache}
  quietly as_root apt-get purge -y "$(dpkg-deb --field "$1" Package)" openmpi-bin
  quietly as_root apt-get autoremove -y --purge
  left
}

try_tarball() {
  step "$(basename "$1")"
  fresh
  files >"$folder/before"
  mkdir "$root/home/user/a folder"
  tar -xf "$1" -C "$root/home/user/a folder"
  local name
  name=$(ls "$root/home/user/a folder")
  as_user "/home/user/a folder/$name/bin/kith" --version --verbose
  as_user ldd "/home/user/a folder/$name/bin/kith"
  examples "/home/user/a folder/$name" man/man1/kith-cluster.1.gz
  rm -r "$root/home/user/a folder"
  left
}

try_file() {
  step "$(basename "$1")"
  fresh
  files >"$folder/before"
  as_user mkdir -p /home/user/.local/bin
  install "$1" "$root/home/user/.local/bin/kith"
  as_user /home/user/.local/bin/kith --version --verbose
  examples /home/user/.local
  as_user /home/user/.local/bin/kith man cluster | grep -c '^\.TP' | sed 's/$/ options in kith man cluster/'
  as_user bash -c 'PATH=~/.local/bin:$PATH && source <(kith completion bash) && complete -p kith'
  rm -r "$root/home/user/.local"
  left
}

# With pip in an environment, then with uv and pipx.
try_wheel() {
  step "$(basename "$1")"
  fresh
  quietly as_root apt-get install -y --no-install-recommends python3-venv
  files >"$folder/before"
  cp "$1" "$source/tests/python/module_test.py" "$source/samples/digits.h5" "$root/home/user/"
  # The certificates that this system trusts: networks may have some of their own.
  cp -L "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$root/home/user/certificates"
  quietly as_user python3 -m venv /home/user/venv
  quietly as_user PIP_CERT=/home/user/certificates /home/user/venv/bin/pip install "/home/user/$(basename "$1")"
  as_user /home/user/venv/bin/kith --version
  examples /home/user/venv man/man1/kith-cluster.1.gz
  as_user /home/user/venv/bin/python /home/user/module_test.py
  as_user /home/user/venv/bin/python -c 'import kith, h5py
points = h5py.File("/home/user/digits.h5")["train"][:]
print("inertia", kith.KMeans(10, random_state=0).fit(points).inertia_, kith._native.__file__)'
  quietly as_user /home/user/venv/bin/pip uninstall -y kith-cluster
  if find "$root/home/user/venv" -iname '*kith*' | grep .; then fail 'These files are left.'; fi
  quietly as_user PIP_CERT=/home/user/certificates /home/user/venv/bin/pip install uv pipx
  local tool online=(PATH=/home/user/venv/bin:/usr/bin:/bin {SSL_CERT_FILE,PIP_CERT}=/home/user/certificates)
  for tool in 'uv tool' pipx; do
    quietly as_user "${online[@]}" $tool install "/home/user/$(basename "$1")"
    as_user /home/user/.local/bin/kith cluster /home/user/digits.h5 -k 10 -q -f -o /home/user/clusters.h5
    quietly as_user "${online[@]}" $tool uninstall kith-cluster
    if find "$root/home/user/.local" -iname '*kith*' -not -name '*.lock' | grep .; then fail "$tool left these files."; fi
    echo "Installed, used and removed with $tool."
  done
  rm -rf "$root"/home/user/{venv,.cache,.local,certificates,module_test.py,digits.h5,clusters.h5,"$(basename "$1")"}
  left
}

# The steps of a Containerfile: FROM begins with a bare system, and of a mount the files are copied for the time of a
# step. Then a run as the documented one: read-only, /tmp in memory, /data writable, the user of the recipe.
try_recipe() {
  step "The steps of $1"
  local line words at=/ user=root
  while IFS= read -r line; do
    line=${line/'$KITH_COMMIT'/$(git -C "$source" rev-parse --short=12 HEAD)}
    read -ra words <<<"$line"
    case ${words[0]:-} in
      '' | '#'* | ARG) continue ;;
      FROM)
        at=/ user=root
        rm -rf "$folder/built"
        if [[ -d $root/source/build-package ]]; then cp -r "$root/source/build-package" "$folder/built"; fi
        fresh
        ;;
      WORKDIR) at=${words[1]} && mkdir -p "$root$at" ;;
      COPY)
        if [[ ${words[1]} != . ]]; then
          cp "$source/${words[1]}" "$root$at"
        else
          git -C "$source" archive HEAD | tar -x -C "$root$at"
        fi
        ;;
      RUN)
        echo "$line"
        line=${line#RUN }
        if [[ $line == --mount=* ]]; then cp -r "$folder/built" "$root/packages" && line=${line#* }; fi
        if [[ $line == './dev package '* && -n ${KITH_PACKAGES:-} ]]; then
          mkdir -p "$root$at/build-package" && cp "$KITH_PACKAGES"/*.deb "$root$at/build-package"
          continue
        fi
        quietly as_root sh -c "cd '$at' && $line"
        rm -rf "$root/packages"
        ;;
      USER) user=${words[1]} ;;
      ENTRYPOINT) ;;
      *) fail "an unknown step: $line" ;;
    esac
  done < <(sed -e ':more' -e '/\\$/{N;s/\\\n *//;b more' -e '}' "$source/$1")
  [[ $user != root && $user != 0* ]] || fail 'The recipe runs as root.'
  step 'A run in it'
  rm -rf "$folder/data" && mkdir -p "$folder/data/samples" && cp "$source/samples/digits.h5" "$folder/data/samples"
  chown -R "$user" "$folder/data"
  bind "$folder/data" "$root/data"
  mount -t tmpfs tmpfs "$root/tmp" && mounted+=("$root/tmp")
  mount -o remount,ro "$root"
  chroot --userspec="$user" "$root" env -i PATH=/usr/bin:/bin sh -c "cd $at && ! touch /try 2>/dev/null &&
    kith cluster samples/digits.h5 -k 10 -o clusters.h5 && kith info --verify clusters.h5 >/dev/null &&
    kith cluster samples/digits.h5 -k 10 --memory 64MB -q -f -o again.h5 && kith --version --verbose"
}

bare
for package; do
  case $package in
    *mpi*.deb) try_mpi_deb "$package" ;;
    *.deb) try_deb "$package" ;;
    *.tar.gz) try_tarball "$package" ;;
    *.whl) try_wheel "$package" ;;
    containers/*) try_recipe "$package" ;;
    *)
      [[ -f $package && -x $package ]] ||
        fail "expected a .deb, a .tar.gz, a .whl, a program or containers/NAME, found $package"
      try_file "$package"
      ;;
  esac
done
