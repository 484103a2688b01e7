"""The ledger in Java with org.xerial:sqlite-jdbc, from Maven Central."""
import os, subprocess
import ledger_php as ledger

TITLE = "Java, sqlite-jdbc"
DATABASE, drive, prepare = ledger.DATABASE, ledger.drive, ledger.prepare
DRIVER = "org.xerial:sqlite-jdbc:3.54.1.0"


def install(folder):
    get = ["mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:2.8:get", f"-Dartifact={DRIVER}", "-Dtransitive=false"]
    copy = ["mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy", f"-Dartifact={DRIVER}", "-DoutputDirectory=."]
    for step in (get, copy):
        subprocess.run(step, cwd=folder, check=True)
    subprocess.run(["javac", "-d", folder, os.path.join(ledger.SOURCE, "Ledger.java")], check=True)


def command(folder, work, port):
    jar = os.path.join(folder, DRIVER.split(":")[1] + "-" + DRIVER.split(":")[2] + ".jar")
    return ["java", "-cp", f"{jar}:{folder}", "Ledger"]
