# For the tests of installing: a folder of their own, and a pkg-config that lacks packages.
# shellcheck shell=bash
here=$(realpath "${BASH_SOURCE%/*}")
# shellcheck disable=SC2034 # the tests use it
source_folder=$(realpath "$here/../..")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# `make test` gives its variables to every make below it.
unset MAKEFLAGS MFLAGS MAKELEVEL

fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# hide_packages NAME…: as if these were not installed. A build that looks for them fails.
hide_packages() {
    local real
    real=$(command -v pkg-config)
    cat >"$root/pkg-config" <<END
#!/bin/bash
for word in "\$@"; do
    for hidden in $*; do
        [[ \$word != "\$hidden"* ]] || { echo "No package '\$hidden' found" >&2; exit 1; }
    done
done
exec $real "\$@"
END
    chmod +x "$root/pkg-config"
    export PKG_CONFIG=$root/pkg-config
}

# Assertions are for tests.
expect_release() {
    if nm -D "$@" | grep __assert_fail; then
        fail "there are assertions in $*"
    fi
}
