"""Subversion: a repository and two working copies, whose state is in SQLite (`wc.db`), and the repository's cache of contents."""
import os, stat, subprocess

TITLE = "Subversion, two working copies"
DATABASE = "one/.svn/wc.db"
drive = None

SCRIPT = r"""#!/bin/sh
set -e
url="file://$PWD/repository"
svnadmin create repository
svn mkdir -q -m "layout" "$url/trunk" "$url/branches"
svn checkout -q "$url/trunk" one
svn checkout -q "$url/trunk" two
mkdir one/source
for number in 1 2 3 4 5 6; do
  for file in a b c d e; do echo "line $number of $file" >> one/source/$file.txt; done
  svn add -q --force one/source
  svn propset -q reviewed "by $number" one/source/a.txt
  svn commit -q -m "change $number" one
  svn update -q two
  svn status two > /dev/null
done
svn move -q one/source/b.txt one/source/moved.txt
svn delete -q one/source/c.txt
svn revert -q -R one
svn copy -q -m "a branch" "$url/trunk" "$url/branches/next"
svn switch -q --ignore-ancestry "$url/branches/next" two
echo more >> two/source/d.txt
svn commit -q -m "on the branch" two
svn cleanup one
svn log -q one > /dev/null
svn changelist -q later one/source/e.txt
"""


def install(folder):
    """Nothing: Debian's package `subversion` is installed by the caller."""
    subprocess.run(["svn", "--version", "--quiet"], cwd=folder, check=True)


def prepare(folder, work):
    script = os.path.join(work, "commits.sh")
    with open(script, "w") as file:
        file.write(SCRIPT)
    os.chmod(script, stat.S_IRWXU)


def command(folder, work, port):
    return ["sh", "commits.sh"]
