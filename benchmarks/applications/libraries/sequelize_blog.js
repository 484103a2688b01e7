// A blog with Sequelize over sqlite3: models with associations, eager loading, paranoid deletion, concurrent requests.
const { Sequelize, DataTypes, Op } = require("sequelize");

const sequelize = new Sequelize({ dialect: "sqlite", storage: "app.db", logging: false });
const Author = sequelize.define("Author", { name: { type: DataTypes.STRING, unique: true } });
const Post = sequelize.define("Post", { title: DataTypes.STRING, body: DataTypes.TEXT, views: { type: DataTypes.INTEGER, defaultValue: 0 } }, { paranoid: true });
Author.hasMany(Post);
Post.belongsTo(Author);

async function request(number) {
  const [author] = await Author.findOrCreate({ where: { name: `author ${number % 6}` } });
  const post = await Post.create({ title: `post ${number}`, body: "words ".repeat(number % 50), AuthorId: author.id });
  await post.increment("views", { by: 3 });
  await Post.findAndCountAll({ where: { title: { [Op.like]: `post ${number % 4}%` } }, include: Author, order: [["createdAt", "DESC"]], limit: 10 });
  if (number % 5 === 0) await post.destroy();
}

async function main() {
  await sequelize.sync();
  for (let number = 0; number < 60; number++) await request(number);
  await sequelize.transaction(async (transaction) => {
    const posts = await Post.findAll({ transaction, limit: 20 });
    for (const post of posts) await post.update({ body: post.body.trim() }, { transaction });
  });
  await Promise.all([1, 2, 3, 4].map((id) => Author.findByPk(id, { include: Post })));
  await sequelize.close();
}

main();
