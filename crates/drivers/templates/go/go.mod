module driver

go 1.22

require modernc.org/sqlite v1.61.1
