"""A load generator for programs that serve pages: users, each with cookies, who work at the same time."""
import http.client, random, re, socket, threading, time, urllib.parse


class User:
    """One user with an own connection and own cookies. Requests are sent to this machine only."""

    def __init__(self, port, seed):
        self.port, self.random = port, random.Random(seed)
        self.cookies, self.connection, self.failed = {}, None, []

    def get(self, path):
        return self.request("GET", path, None, {})

    def post(self, path, fields, form=None):
        """Sends a form; with `form`, the page that has it is read first, for its secret against forgery."""
        if form:
            page = self.get(form)
            if page is None:
                return None
            fields = {**secrets_of(page), **fields}
        return self.request("POST", path, urllib.parse.urlencode(fields), {"Content-Type": "application/x-www-form-urlencoded"})

    def json(self, method, path, text, headers):
        return self.request(method, path, text, {"Content-Type": "application/json", **headers})

    def request(self, method, path, body, headers):
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"Cookie": cookies, "Referer": f"http://127.0.0.1:{self.port}/", **headers}
        for attempt in range(2):
            try:
                if not self.connection:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                self.connection.request(method, path, body, headers)
                answer = self.connection.getresponse()
                text = answer.read().decode("utf-8", "replace")
                break
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                # The server has closed a connection that was idle.
                self.connection = None
                if attempt == 1:
                    raise
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.split(";")[0].partition("=")
            self.cookies[name] = value
        if answer.status >= 500:
            # Such as "database is locked", which belongs to the traffic.
            self.failed.append(f"{method} {path}: status {answer.status}")
            return None
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: status {answer.status}: {text[:500]}")
        return text


def secrets_of(page):
    """The hidden fields by which programs know their own forms, and which version of a page was changed."""
    fields = re.findall(r"<input[^>]*>", page)
    pairs = [(re.search(r'name="([^"]*)"', it), re.search(r'value="([^"]*)"', it)) for it in fields if "hidden" in it]
    wanted = lambda name: "token" in name.lower() or name == "version"
    return {name[1]: value[1] for name, value in pairs if name and value and wanted(name[1])}


def wait_until_open(port, seconds=60):
    """Waits until a server listens."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with socket.socket() as it:
            if it.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")


def together(port, users, visit):
    """Has so many users do `visit(user)` at the same time; returns the requests that the server could not serve."""
    errors, failed = [], []

    def work(number):
        user = User(port, number)
        try:
            visit(user)
        except Exception as error:
            errors.append(error)
        failed.extend(user.failed)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return failed
