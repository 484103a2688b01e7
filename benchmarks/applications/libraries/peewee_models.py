"""Models of peewee: upserts, nested transactions and its functions for dates and regular expressions, in WAL mode."""
from peewee import AutoField, CharField, ForeignKeyField, IntegerField, IntegrityError, Model, SqliteDatabase, fn

db = SqliteDatabase("app.db", pragmas={"journal_mode": "wal", "foreign_keys": 1}, regexp_function=True)


class Base(Model):
    class Meta:
        database = db


class User(Base):
    id = AutoField()
    name = CharField(unique=True)


class Post(Base):
    user = ForeignKeyField(User, backref="posts")
    title = CharField(index=True)
    likes = IntegerField(default=0)


db.connect()
db.create_tables([User, Post])
for number in range(50):
    with db.atomic():
        user = User.create(name=f"user {number}")
        Post.insert_many([{"user": user, "title": f"post {post}"} for post in range(5)]).execute()
        try:
            with db.atomic():
                User.create(name="user 0")
        except IntegrityError:
            pass
    Post.update(likes=Post.likes + 1).where(Post.title == "post 3").execute()
    User.insert(name=f"user {number}").on_conflict(conflict_target=[User.name], update={User.name: f"user {number}!"}).execute()
    list(User.select(User.name, fn.COUNT(Post.id)).join(Post).group_by(User.name).order_by(fn.COUNT(Post.id).desc()).limit(5).tuples())
    list(Post.select().where(Post.title.contains("3") & Post.title.regexp("post [0-9]")).order_by(fn.date_part("year", "2026-01-01")).limit(3))
Post.delete().where(Post.likes > 40).execute()
db.close()
