"""A blog with Sequelize over sqlite3: models with associations, eager loading, paranoid deletion, concurrent requests."""
import node_library as library

TITLE = "Node, Sequelize, a blog"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
install, command = library.program("sequelize_blog.js", "sequelize", "sqlite3@5")
