"""S3 on this machine: moto's server on a free port, with faults on demand."""

from __future__ import annotations

import contextlib
import io
import logging
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

BUCKET = "states"


class ObjectServer:
    """A WSGI application around moto's: one request at a time, as a conditional write of S3 is atomic.

    moto honours ``If-None-Match``, but looks and writes in two steps.
    """

    def __init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        self._moto = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()
        self._lost = self._refused = 0
        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line a request
        self._server = make_server("127.0.0.1", 0, self, threaded=True)
        self.endpoint = f"http://127.0.0.1:{self._server.port}"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def lose_answers(self, count: int) -> None:
        """The next PUTs take effect, and the client hears of an internal error."""
        self._lost = count

    def refuse(self, count: int) -> None:
        """The next requests are forbidden."""
        self._refused = count

    def heal(self) -> None:
        self._lost = self._refused = 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        # The whole body first: a client that is answered before it has sent everything takes that for a failure.
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
        with self._lock:
            if self._refused:
                self._refused -= 1
                return _error(start_response, "403 Forbidden", "AccessDenied")
            if self._lost and environ["REQUEST_METHOD"] == "PUT":
                self._lost -= 1
                b"".join(self._moto(environ, lambda *_: None))
                return _error(start_response, "500 Internal Server Error", "InternalError")
            return [b"".join(self._moto(environ, start_response))]


def _error(start_response: Any, status: str, code: str) -> Iterable[bytes]:
    start_response(status, [("Content-Type", "application/xml")])
    return [f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>made up</Message></Error>".encode()]


@pytest.fixture(scope="session")
def object_server() -> Iterator[ObjectServer]:
    """A server with an empty bucket, which s3fs finds by the environment."""
    import s3fs

    server = ObjectServer()
    with pytest.MonkeyPatch.context() as patch, server.running():
        patch.setenv("AWS_ENDPOINT_URL", server.endpoint)
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_RETRY_MODE", "standard")
        patch.setenv("AWS_MAX_ATTEMPTS", "2")
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir(BUCKET)
        yield server
        s3fs.S3FileSystem.clear_instance_cache()
