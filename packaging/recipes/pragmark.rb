# A formula for Homebrew on Linux. packaging/recipes/fill puts in the version, the home page, the address and the checksum of the sources.
class Pragmark < Formula
  desc "Performance laboratory for SQLite"
  homepage "@HOMEPAGE@"
  url "@URL@/v@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/pragmark")
    generate_completions_from_executable(bin/"pragmark", "completions", shells: [:bash, :zsh, :fish])
    (man1/"pragmark.1").write Utils.safe_popen_read(bin/"pragmark", "man")
  end

  test do
    system bin/"pragmark", "new", "experiment", "question"
    assert_match "journal_mode=wal", shell_output("#{bin}/pragmark show question.toml")
  end
end
