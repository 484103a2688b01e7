"""rpm: packages are built, installed, upgraded and removed in a database of their own (Debian's package `rpm`)."""
import os, subprocess

TITLE = "rpm, packages installed and removed"
DATABASE = "state/rpmdb.sqlite"
drive = None

SPEC = """Name: {name}
Version: {version}
Release: 1
Summary: A package for a database
License: none
BuildArch: noarch
%description
Nothing but names.
%install
mkdir -p %{{buildroot}}/opt/{name}
for file in a b c d e f; do echo {version} > %{{buildroot}}/opt/{name}/$file; done
%files
/opt/{name}
"""

SCRIPT = r"""#!/bin/sh
set -e
run() { rpm --dbpath "$PWD/state" --define "_db_backend sqlite" "$@"; }
run --initdb
for name in one two three four five; do run -i --justdb --nodeps --ignorearch "$1/$name-1-1.noarch.rpm"; done
run -qa > /dev/null
run -U --justdb --nodeps --ignorearch "$1/two-2-1.noarch.rpm"
run -qf /opt/one/a /opt/three/b > /dev/null || true
run -e --justdb four
run -q --requires five > /dev/null
run --rebuilddb
run -qal > /dev/null
"""


def install(folder):
    for name, version in [("one", 1), ("two", 1), ("two", 2), ("three", 1), ("four", 1), ("five", 1)]:
        spec = os.path.join(folder, f"{name}.spec")
        with open(spec, "w") as file:
            file.write(SPEC.format(name=name, version=version))
        paths = ["--define", f"_topdir {folder}/build", "--define", f"_rpmdir {folder}", "--define", "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm"]
        subprocess.run(["rpmbuild", "-bb", "--quiet", *paths, spec], cwd=folder, check=True)


def prepare(folder, work):
    with open(os.path.join(work, "packages.sh"), "w") as file:
        file.write(SCRIPT)


def command(folder, work, port):
    return ["sh", "packages.sh", folder]
