"""A study of optuna in two processes, which share it through SQLite."""
import multiprocessing

import optuna

STORAGE = "sqlite:///app.db"


def objective(trial):
    x = trial.suggest_float("x", -10, 10)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    for step in range(3):
        trial.report(x * step, step)
    trial.set_user_attr("seen", True)
    return (x - 2) ** 2 + (kind == "b")


def optimise(seed):
    sampler = optuna.samplers.RandomSampler(seed=seed)
    optuna.load_study(study_name="study", storage=STORAGE, sampler=sampler).optimize(objective, n_trials=15)


if __name__ == "__main__":
    study = optuna.create_study(study_name="study", storage=STORAGE)
    workers = [multiprocessing.Process(target=optimise, args=(seed,)) for seed in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(study.trials) == 30 and study.best_value < 50
