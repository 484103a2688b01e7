// Starts the task of this page, in a worker of its own or in the page itself.

const { searchParams } = new URL(location.href);
const script = `/page/run.mjs?task=${searchParams.get("task")}`;

if (searchParams.get("thread") === "page") {
  import(script);
} else {
  const worker = new Worker(script, { type: "module" });
  worker.onerror = (event) => {
    const failed = event.message ?? "the worker could not be started";
    fetch(`/say/${searchParams.get("task")}`, { method: "POST", body: JSON.stringify({ failed }) });
  };
}
