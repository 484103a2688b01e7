# What contributors do. `just` lists it; each recipe is one command that works without just, too.

_default:
    @just --list

# Check what CI checks.
check:
    bash .ci/run

# Check one crate quickly, such as `just crate lab`.
crate name:
    cargo clippy -p pragmark-{{name}} --all-targets -- -D warnings
    cargo test -p pragmark-{{name}}

# Words, layout and format: seconds.
style:
    cargo fmt --all --check
    bash .ci/words
    bash .ci/layout

# Write the schema, the lists, the snapshots and the charts again, then read the difference.
generate:
    PRAGMARK_WRITE_DOCS=1 cargo test -p pragmark-lab
    PRAGMARK_WRITE_DOCS=1 cargo test -p pragmark --test docs
    INSTA_UPDATE=always cargo test -p pragmark-report
    docs/charts/draw
    docs/pictures/house.py

# Build the documentation site, and check its links and its pages in a browser.
book:
    cargo build -p pragmark
    bash .ci/book target/debug/pragmark

# Each fuzz target for so many seconds.
fuzz seconds="30":
    bash fuzz/smoke {{seconds}}

# Advisories, licences, sources and duplicates of dependencies.
deny:
    cargo deny check

# The oldest supported Rust.
msrv:
    bash .ci/msrv

# Everything that a release consists of, for this machine.
packages target="x86_64-unknown-linux-gnu":
    bash packaging/build {{target}}
