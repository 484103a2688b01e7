"""Runs of MLflow with SQLite as the tracking store: migrations, parameters, metrics in steps, tags, searches."""
import os

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
import mlflow
from mlflow.tracking import MlflowClient

mlflow.set_tracking_uri("sqlite:///app.db")
mlflow.set_experiment("study")
for number in range(12):
    with mlflow.start_run(run_name=f"run {number}"):
        mlflow.log_params({"rate": number / 10, "layers": number % 4})
        for step in range(8):
            mlflow.log_metric("loss", 1 / (step + number + 1), step=step)
        mlflow.set_tag("kind", "odd" if number % 2 else "even")
client = MlflowClient()
experiment = client.get_experiment_by_name("study")
runs = client.search_runs([experiment.experiment_id], "metrics.loss < 0.2 and tags.kind = 'odd'", order_by=["metrics.loss ASC"])
assert len(runs) == 6, len(runs)
client.delete_run(runs[0].info.run_id)
assert len(client.get_metric_history(runs[1].info.run_id, "loss")) == 8
