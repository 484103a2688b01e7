#!/bin/sh
# Installs pragmark from an archive of a release: install.sh URL-OF-THE-RELEASE [PREFIX]. The release has the archive and SHA256SUMS; the
# prefix is ~/.local by default. Nothing is installed if the checksum differs.
set -eu
release=${1:?"usage: install.sh URL-OF-THE-RELEASE [PREFIX]"}
prefix=${2:-"$HOME/.local"}
if [ "$(uname -s)" != Linux ]; then
  echo "error: there are archives for Linux only" >&2
  exit 3
fi
case $(uname -m) in
  x86_64) target=x86_64-unknown-linux-gnu ;;
  aarch64) target=aarch64-unknown-linux-gnu ;;
  *) echo "error: there is no archive for $(uname -m)" >&2; exit 3 ;;
esac
if ! getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
  echo "error: pragmark needs glibc 2.17 or newer; this system has another C library" >&2
  exit 3
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
curl -fsSL -O "$release/SHA256SUMS"
archive=$(grep -oE "pragmark-[0-9][^ ]*-$target\.tar\.xz" SHA256SUMS || true)
if [ "$(echo "$archive" | wc -w)" -ne 1 ]; then
  echo "error: SHA256SUMS of $release must name one archive for $target; it names: ${archive:-none}" >&2
  exit 3
fi
curl -fsSL -O "$release/$archive"
grep " \*\{0,1\}$archive\$" SHA256SUMS | sha256sum -c --quiet -
tar -xf "$archive"
cd "${archive%.tar.xz}"
mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
  "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
install -m 755 pragmark "$prefix/bin/pragmark"
install -m 644 man/pragmark.1 "$prefix/share/man/man1/"
install -m 644 completions/pragmark.bash "$prefix/share/bash-completion/completions/pragmark"
install -m 644 completions/pragmark.zsh "$prefix/share/zsh/site-functions/_pragmark"
install -m 644 completions/pragmark.fish "$prefix/share/fish/vendor_completions.d/"
"$prefix/bin/pragmark" --version
case :$PATH: in
  *":$prefix/bin:"*) ;;
  *) echo "add $prefix/bin to your PATH" ;;
esac
