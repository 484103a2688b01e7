"""The blog of the Rails guide: articles from a scaffold, with comments, under puma with two processes of three threads.

Rails, puma and ActiveRecord are Debian's packages `ruby-rails`, `puma`, `ruby-jbuilder` and `ruby-sqlite3`.
"""
import os, subprocess
import load

TITLE = "Rails, blog of the guide (puma, 2 processes)"

ENVIRONMENT = {"RAILS_ENV": "production", "SECRET_KEY_BASE": "0" * 64, "RAILS_LOG_LEVEL": "warn"}

CONTROLLER = """
class CommentsController < ApplicationController
  def create
    @article = Article.find(params[:article_id])
    @comment = @article.comments.create(comment_params)
    redirect_to article_path(@article)
  end

  private
    def comment_params
      params.require(:comment).permit(:commenter, :body)
    end
end
"""

SHOW = """
<h1><%= @article.title %></h1>
<p><%= @article.body %></p>
<h2>Comments</h2>
<% @article.comments.each do |comment| %>
  <p><%= comment.commenter %>: <%= comment.body %></p>
<% end %>
<%= form_with model: [ @article, @article.comments.build ], local: true do |form| %>
  <%= form.text_field :commenter %>
  <%= form.text_area :body %>
  <%= form.submit %>
<% end %>
"""

ROUTES = """
Rails.application.routes.draw do
  resources :articles do
    resources :comments
  end
end
"""

ARTICLE = """
class Article < ApplicationRecord
  has_many :comments, dependent: :destroy
  validates :title, presence: true
  validates :body, presence: true, length: { minimum: 10 }
end
"""

SEEDS = """
40.times do |number|
  article = Article.create!(title: "Article #{number}", body: "The text of article #{number}.")
  5.times { |n| article.comments.create!(commenter: "Reader #{n}", body: "A comment") }
end
"""

FILES = {
    "app/controllers/comments_controller.rb": CONTROLLER,
    "app/views/articles/show.html.erb": SHOW,
    "app/models/article.rb": ARTICLE,
    "config/routes.rb": ROUTES,
    "db/seeds.rb": SEEDS,
    "Gemfile": 'gem "rails"\ngem "sqlite3"\ngem "puma"\ngem "jbuilder"\n',
}

SKIPPED = (
    "bundle webpack-install javascript git spring listen bootsnap test system-test action-cable sprockets "
    "active-storage action-mailbox action-text"
).split()


def install(folder):
    """Nothing: Debian's packages are installed by the caller."""
    subprocess.run(["rails", "--version"], cwd=folder, check=True)


def prepare(folder, work):
    run = lambda *command: subprocess.run(command, cwd=work, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT})
    run("rails", "new", ".", "--name=blog", "--database=sqlite3", "--force", *[f"--skip-{it}" for it in SKIPPED])
    with open(os.path.join(work, "Gemfile"), "w") as file:
        file.write(FILES["Gemfile"])
    run("bin/rails", "generate", "scaffold", "Article", "title:string", "body:text")
    run("bin/rails", "generate", "model", "Comment", "commenter:string", "body:text", "article:references")
    for name, text in FILES.items():
        with open(os.path.join(work, name), "w") as file:
            file.write(text.lstrip())
    run("bin/rails", "db:migrate", "db:seed")


def command(folder, work, port):
    return ["bin/rails", "server", "-b", "127.0.0.1", "-p", str(port)]


ENVIRONMENT |= {"WEB_CONCURRENCY": "2", "RAILS_MAX_THREADS": "3"}
DATABASE = "db/production.sqlite3"


def read_and_comment(user):
    for number in range(40):
        user.get("/articles")
        article = user.random.randrange(1, 41)
        form = f"/articles/{article}"
        user.get(form)
        if number % 3 == 0:
            fields = {"comment[commenter]": "Reader", "comment[body]": f"Comment {number}"}
            user.post(f"/articles/{article}/comments", fields, form=form)
        if number % 10 == 0:
            fields = {"article[title]": f"New {number}", "article[body]": "A text of ten characters or more."}
            user.post("/articles", fields, form="/articles/new")
            fields = {"_method": "patch", "article[title]": f"Changed {number}", "article[body]": "Another text."}
            user.post(f"/articles/{article}", fields, form=f"/articles/{article}/edit")


def drive(port):
    return load.together(port, 6, read_and_comment)
