-- What each connection of the shop executes.
PRAGMA journal_mode = delete;
PRAGMA synchronous = full;
