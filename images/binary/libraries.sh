# shellcheck shell=bash
# The shared libraries that programs need and a system lacks, and the Debian packages that have them.

missing_of() { # program or library: the sonames, and versions of the C library, that the loader does not find
  ldd "$1" 2>&1 | sed -nE 's/^\s*(\S+) => not found.*/\1/p; s/.*version `([A-Z_]+[0-9.]+)'"'"' not found.*/\1/p' | sort -u
}

missing_of_all() { # programs and libraries on stdin: lines of: soname, the first of them that needs it
  local file soname
  while IFS= read -r file; do
    missing_of "$file" | while IFS= read -r soname; do printf '%s %s\n' "$soname" "$file"; done
  done | sort -u -k 1,1
}

packages_of() { # soname: the names that its package may have, by Debian's rule for libraries, and where the rule does not hold
  local stem version name
  case $1 in
    libcrypto.so.*) set -- "libssl.so.${1#libcrypto.so.}" ;;
    libicu*.so.*) set -- "libicu.so.${1##*.so.}" ;;
    libz.so.1) echo zlib1g ;;
    libsnappy.so.1) echo libsnappy1v5 ;;
    libpam.so.0) echo libpam0g ;;
    libJudy.so.1) echo libjudydebian1 ;;
    libgcc_s.so.1) echo libgcc-s1 ;;
    libxml2.so.2) echo libxml2 ;;
    libtcmalloc.so.4) printf '%s\n' libgoogle-perftools4 libgoogle-perftools4t64 ;;
  esac
  stem=${1%%.so*} version=${1#*.so.}
  name=$(tr 'A-Z_' 'a-z-' <<<"$stem")
  case $name in
    *[0-9]) printf '%s\n' "$name-$version" "$name-${version}t64" ;;
    *) printf '%s\n' "$name$version" "$name${version}t64" ;;
  esac
}

package_of() { # soname: the package of it that the package lists have; nothing where there is none
  local name
  while IFS= read -r name; do
    if apt-cache show "$name" >/dev/null 2>&1; then
      echo "$name"
      return
    fi
  done < <(packages_of "$1")
}

install_missing() { # lines of: soname, program; fails where no package has any of them
  local soname packages=()
  while read -r soname _; do mapfile -t -O "${#packages[@]}" packages < <(package_of "$soname"); done <<<"$1"
  [ "${#packages[@]}" -gt 0 ] || return 1
  apt-get install -y --no-install-recommends "${packages[@]}" || {
    apt-get update && apt-get install -y --no-install-recommends "${packages[@]}"
  }
}
