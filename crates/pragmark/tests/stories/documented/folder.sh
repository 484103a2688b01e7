# Makes what pragmark itself writes and commands of the documents name: a trace, a script of it, runs and their exports.
for name in app web worker; do pragmark record --out $name.trace -- python3 app.py $name-recorded.db; done
rm -f *-recorded.db*
pragmark trace to-script app.trace --out work.sql
sed 's/id = "small"/id = "my-question"/; s/small-1/my-question-1/' small.toml > my-question.toml
sed -i 's/synchronous = "off"/synchronous = "full"/; s/factors = .*/factors = { journal_mode = ["delete", "wal"] }/; s/baseline = .*/baseline = { journal_mode = "delete" }/; /^\[\[claims\]\]/,$d' my-question.toml
pragmark run my-question.toml --no-tiers --probe 0 --out pragmark-runs/before
mkdir benchmarks
for name in pragmark-runs/after pragmark-runs/… pragmark-runs/20261120-101500-4711 old-run new-run benchmarks/first; do
  cp -r pragmark-runs/before "$name"
done
pragmark report pragmark-runs/before --format sqlite --out runs.db
pragmark report pragmark-runs/before --format csv --out before.csv
for name in before monday tuesday; do pragmark report pragmark-runs/before --format json --out "$name.json"; done
