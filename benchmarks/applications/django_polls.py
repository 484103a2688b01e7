"""The application of Django's tutorial, polls with the administration site, under gunicorn with three processes."""
import os, subprocess
import load

TITLE = "Django, tutorial (gunicorn, 3 processes)"

MODELS = '''
import datetime
from django.contrib import admin
from django.db import models
from django.utils import timezone


class Question(models.Model):
    question_text = models.CharField(max_length=200)
    pub_date = models.DateTimeField("date published")

    def __str__(self):
        return self.question_text

    @admin.display(boolean=True, ordering="pub_date", description="Published recently?")
    def was_published_recently(self):
        now = timezone.now()
        return now - datetime.timedelta(days=1) <= self.pub_date <= now


class Choice(models.Model):
    question = models.ForeignKey(Question, on_delete=models.CASCADE)
    choice_text = models.CharField(max_length=200)
    votes = models.IntegerField(default=0)

    def __str__(self):
        return self.choice_text
'''

ADMIN = '''
from django.contrib import admin
from .models import Choice, Question


class ChoiceInline(admin.TabularInline):
    model = Choice
    extra = 3


class QuestionAdmin(admin.ModelAdmin):
    fieldsets = [(None, {"fields": ["question_text"]}), ("Date information", {"fields": ["pub_date"]})]
    inlines = [ChoiceInline]
    list_display = ["question_text", "pub_date", "was_published_recently"]
    list_filter = ["pub_date"]
    search_fields = ["question_text"]


admin.site.register(Question, QuestionAdmin)
'''

VIEWS = '''
from django.db.models import F
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.views import generic
from .models import Choice, Question


class IndexView(generic.ListView):
    template_name = "polls/index.html"
    context_object_name = "latest_question_list"

    def get_queryset(self):
        return Question.objects.filter(pub_date__lte=timezone.now()).order_by("-pub_date")[:5]


class DetailView(generic.DetailView):
    model = Question
    template_name = "polls/detail.html"


class ResultsView(generic.DetailView):
    model = Question
    template_name = "polls/results.html"


def vote(request, question_id):
    question = get_object_or_404(Question, pk=question_id)
    try:
        selected_choice = question.choice_set.get(pk=request.POST["choice"])
    except (KeyError, Choice.DoesNotExist):
        return render(request, "polls/detail.html", {"question": question, "error_message": "You did not select a choice."})
    selected_choice.votes = F("votes") + 1
    selected_choice.save()
    return HttpResponseRedirect(reverse("polls:results", args=(question.id,)))
'''

URLS = '''
from django.urls import path
from . import views

app_name = "polls"
urlpatterns = [
    path("", views.IndexView.as_view(), name="index"),
    path("<int:pk>/", views.DetailView.as_view(), name="detail"),
    path("<int:pk>/results/", views.ResultsView.as_view(), name="results"),
    path("<int:question_id>/vote/", views.vote, name="vote"),
]
'''

SITE_URLS = '''
from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("polls/", include("polls.urls")), path("admin/", admin.site.urls)]
'''

INDEX = '''
{% for question in latest_question_list %}<li><a href="{% url 'polls:detail' question.id %}">{{ question.question_text }}</a></li>{% endfor %}
'''

DETAIL = '''
<form action="{% url 'polls:vote' question.id %}" method="post">{% csrf_token %}
<h1>{{ question.question_text }}</h1>{{ error_message }}
{% for choice in question.choice_set.all %}<input type="radio" name="choice" value="{{ choice.id }}"><label>{{ choice.choice_text }}</label>{% endfor %}
<input type="submit" value="Vote"></form>
'''

RESULTS = '''
<h1>{{ question.question_text }}</h1>
{% for choice in question.choice_set.all %}<li>{{ choice.choice_text }} -- {{ choice.votes }} vote{{ choice.votes|pluralize }}</li>{% endfor %}
'''

FILES = {
    "polls/models.py": MODELS,
    "polls/admin.py": ADMIN,
    "polls/views.py": VIEWS,
    "polls/urls.py": URLS,
    "mysite/urls.py": SITE_URLS,
    "polls/templates/polls/index.html": INDEX,
    "polls/templates/polls/detail.html": DETAIL,
    "polls/templates/polls/results.html": RESULTS,
}

FILL = '''
from django.contrib.auth.models import User
from django.utils import timezone
from polls.models import Question
User.objects.create_superuser("admin", "admin@example.com", "secret")
for number in range(50):
    question = Question.objects.create(question_text=f"Question {number}?", pub_date=timezone.now())
    for choice in range(4):
        question.choice_set.create(choice_text=f"Choice {choice}")
'''


def install(folder):
    subprocess.run(["/usr/bin/python3", "-m", "venv", "venv"], cwd=folder, check=True)
    subprocess.run(["venv/bin/pip", "install", "-q", "django", "gunicorn"], cwd=folder, check=True)


def prepare(folder, work):
    """The tutorial's project with fifty questions, in a new folder."""
    python = os.path.join(folder, "venv/bin/python")
    manage = lambda *arguments, **more: subprocess.run([python, *arguments], cwd=work, check=True, stdout=subprocess.DEVNULL, **more)
    manage("-m", "django", "startproject", "mysite", ".")
    manage("manage.py", "startapp", "polls")
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(os.path.join(work, name)), exist_ok=True)
        with open(os.path.join(work, name), "w") as file:
            file.write(text.lstrip())
    settings = os.path.join(work, "mysite/settings.py")
    with open(settings) as file:
        text = file.read().replace("INSTALLED_APPS = [", 'INSTALLED_APPS = [\n    "polls",', 1)
    # As deployed: with DEBUG, Django executes a query of its own for each query that it logs.
    text = text.replace("DEBUG = True", "DEBUG = False").replace("ALLOWED_HOSTS = []", 'ALLOWED_HOSTS = ["*"]')
    with open(settings, "w") as file:
        file.write(text)
    manage("manage.py", "makemigrations", "polls")
    manage("manage.py", "migrate")
    manage("manage.py", "shell", "-c", FILL)


def command(folder, work, port):
    gunicorn = os.path.join(folder, "venv/bin/gunicorn")
    return [gunicorn, "-w", "3", "-b", f"127.0.0.1:{port}", "--log-level", "error", "mysite.wsgi"]


DATABASE = "db.sqlite3"


def vote(user, rounds):
    for _ in range(rounds):
        user.get("/polls/")
        question = user.random.randrange(1, 51)
        choice = (question - 1) * 4 + user.random.randrange(1, 5)
        user.post(f"/polls/{question}/vote/", {"choice": choice}, form=f"/polls/{question}/")
        user.get(f"/polls/{question}/results/")


def administer(user, rounds):
    user.post("/admin/login/", {"username": "admin", "password": "secret", "next": "/admin/"}, form="/admin/login/")
    for number in range(rounds):
        user.get("/admin/polls/question/")
        user.get("/admin/polls/question/?q=" + str(user.random.randrange(50)))
        user.get("/admin/polls/question/?pub_date__year=2026")
        fields = {"question_text": f"New {number}?", "pub_date_0": "2026-01-01", "pub_date_1": "12:00:00"}
        fields |= {"choice_set-TOTAL_FORMS": 3, "choice_set-INITIAL_FORMS": 0, "choice_set-MIN_NUM_FORMS": 0}
        fields |= {"choice_set-MAX_NUM_FORMS": 1000, "_save": "Save"}
        for choice in range(3):
            fields |= {f"choice_set-{choice}-choice_text": f"Choice {choice}", f"choice_set-{choice}-votes": 0}
        user.post("/admin/polls/question/add/", fields, form="/admin/polls/question/add/")


def drive(port):
    return load.together(port, 6, lambda user: administer(user, 10) if user.random.random() < 0.2 else vote(user, 60))
