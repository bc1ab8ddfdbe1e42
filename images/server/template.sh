# shellcheck shell=bash disable=SC2154
# A fresh data directory, made by the server itself while the image was built and unpacked at a first start: seconds saved per node.

template=/usr/local/lib/docker-entrypoint/template

shaping_variables() { # of the server's --verbose --help on stdin, those that its family says shape a fresh data directory
  awk -v names="${shaping[*]}" 'BEGIN {split(names, list); for (i in list) wanted[list[i]]} NF > 1 && $1 in wanted' | sort
}

make_template() { # at build time
  data=/tmp/template
  install -d -o mysql -g mysql "$data"
  create_system_tables "$server" --datadir="$data"
  forget_own "$data"
  chown -R mysql:mysql "$data"
  tar -C "$data" -c . | zstd -q -10 -o "$template.tar.zst"
  "$server" --verbose --help 2>/dev/null | shaping_variables >"$template.variables"
  rm -rf "$data"
}

fill_from_template() { # the server's --verbose --help; fails where a setting would have shaped the files otherwise
  [ "$(shaping_variables <<<"$1")" = "$(<"$template.variables")" ] || return 1
  zstd -qdc "$template.tar.zst" | tar -x -C "$data"
}
