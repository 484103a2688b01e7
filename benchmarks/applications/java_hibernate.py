"""A library of books in Java with Hibernate, from Maven Central."""
import os, shutil, subprocess
import python_library as library

TITLE = "Java, Hibernate, a library"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
SOURCE = os.path.join(library.SOURCE, "hibernate")


def install(folder):
    shutil.copy(os.path.join(SOURCE, "pom.xml"), folder)
    copy = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies"
    subprocess.run(["mvn", "-q", "-B", copy, "-DoutputDirectory=jars"], cwd=folder, check=True)
    subprocess.run(["javac", "-cp", "jars/*", "-d", folder, os.path.join(SOURCE, "Library.java")], cwd=folder, check=True)


def command(folder, work, port):
    return ["java", "-cp", f"{folder}/jars/*:{folder}", "Library"]
