# Written by clients/python/unasync from recollect/_async. Change that.
"""The client: a connection, and what calls are about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from types import TracebackType

import grpc

from recollect import _requests, _results, types, v1
from recollect._arguments import make, text
from recollect._sync.admin import Admin
from recollect._sync.app import App
from recollect._sync.pages import pages
from recollect._sync.session import Session
from recollect._sync.subscriptions import Subscriptions
from recollect._sync.user import User
from recollect._calls import call_error
from recollect._connect import Channels, Connection
from recollect._retry import Retry
from recollect.v1.stubs import Stubs

_EXPORT = "/recollect.v1.TransferService/ExportRecords"
_IMPORT = "/recollect.v1.TransferService/ImportRecords"


class Recollect:
    """A client of a Recollect server.

    It connects with its first call, and again when the connection is lost. Use one client for
    all threads, and close it at the end, or use it in a `with`.

    gRPC does not work across a fork: a process that forks must not have made a call before, or
    each worker must make a client of its own, such as in its start hook.
    """

    def __init__(
        self,
        addr: str | None = None,
        *,
        api_key: str | None = None,
        tls: bool | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        client_cert: tuple[str | os.PathLike[str], str | os.PathLike[str]] | None = None,
        server_name: str | None = None,
        timeout: float | None = 30.0,
        retry: Retry | None = Retry(),
        allow_plaintext_key: bool | None = None,
    ) -> None:
        """
        Args:
            addr: the server as `host:port`, `http://host:port` or, with TLS,
                `https://host:port`. Default: RECOLLECT_ADDR, or else `127.0.0.1:50051`.
            api_key: the API key; it selects the tenant. Default: RECOLLECT_API_KEY, or else
                none, for a server without keys.
            tls: whether to use TLS. Default: with `https://`, ca_file or client_cert.
            ca_file: a PEM file with the certificates to trust. Default: those that gRPC ships.
            client_cert: PEM files of a client certificate and its key, for mutual TLS.
            server_name: the name that the server's certificate is checked against, if it is
                not the host of addr.
            timeout: the seconds that a call may take, with all its repetitions, unless the
                call names its own. None: no limit.
            retry: how failed calls are repeated. None: not at all.
            allow_plaintext_key: whether the key may be sent without TLS to another machine,
                as on a private network. Default: RECOLLECT_ALLOW_PLAINTEXT_KEY, or else False.
        """
        connection = Connection(
            addr,
            api_key,
            tls,
            ca_file,
            client_cert,
            server_name,
            timeout,
            retry,
            allow_plaintext_key,
        )
        self._channels = Channels(connection)

    def __repr__(self) -> str:
        return f"Recollect({self.addr!r})"

    @property
    def addr(self) -> str:
        """The server: `host:port`, or `https://host:port` if it is called with TLS."""
        return self._channels.connection.addr

    @property
    def stubs(self) -> Stubs:
        """The generated stub of each service, such as `stubs.plan.GetPlan(v1.GetPlanRequest(…))`.

        Their calls have the key, the timeout, the retries and the exceptions of this client,
        and appends get a request id. Streams have the key only, and raise grpc.RpcError.
        """
        return self._channels.stubs()

    def close(self) -> None:
        """Ends the connection and the calls under way."""
        self._channels.close()

    def __enter__(self) -> Recollect:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def session(
        self,
        *,
        app: str,
        user: str | types.NoUser,
        session: str = "",
        agent_session: str = "",
    ) -> Session:
        """A conversation by your own names for it. No call is made: the first append creates
        the thread.

        Args:
            app: the bot, flow or workflow: 1 to 128 characters.
            user: the person: 1 to 256 characters. NO_USER: the thread belongs to no user.
            session: your key for the conversation, such as `42`: at most 512 characters.
                `global` is one that all users of the app share, and `user:ID` that of the user
                ID; beside another user they are refused (SessionRef in docs/api.md). Empty: the
                default session of the app's policy.
            agent_session: the key that an agent supplies, used if session is empty.
        """
        ref = _requests.session_ref(app, user, session, agent_session)
        return Session(self._channels, session=ref)

    def thread(self, thread_id: str) -> Session:
        """A conversation by the UUID of its thread. No call is made."""
        return Session(self._channels, thread_id=text("thread_id", thread_id))

    def user(self, *, app: str, user: str | types.NoUser) -> User:
        """A user of an app. No call is made. NO_USER is the data that belongs to none."""
        return User(self._channels, _requests.user_ref(app, user))

    def app(self, app: str) -> App:
        """An app. No call is made."""
        return App(self._channels, app)

    @property
    def admin(self) -> Admin:
        """What operators do: deleting users, and reading the audit log."""
        return Admin(self._channels)

    @property
    def subscriptions(self) -> Subscriptions:
        """Subscriptions to changes, delivered by webhooks or streams."""
        return Subscriptions(self._channels)

    def apps(self, *, timeout: float | None = None) -> Iterator[str]:
        """The ids of the apps that have threads or memories."""
        request = make(v1.ListAppsRequest, page_size=500)
        for page in pages(self.stubs.thread.ListApps, request, timeout):
            for app in page.apps:
                yield app.app_id

    def threads(
        self,
        *,
        metadata: types.MetadataFilter | None = None,
        order_by: str = "create_time desc",
        page_size: int = 50,
        timeout: float | None = None,
    ) -> Iterator[types.ThreadInfo]:
        """The threads of all apps and users of the tenant.

        Args:
            metadata: values that a thread's metadata must have: at most 16.
            order_by: `create_time` or `update_time`, with ` desc` for the newest first.
            page_size: the number of threads a call fetches: at most 500.
            timeout: the seconds each call may take. Default: the client's.
        """
        request = _requests.list_threads(None, metadata, order_by, page_size)
        for page in pages(self.stubs.thread.ListThreads, request, timeout):
            for thread in page.threads:
                yield _results.thread(thread)

    def export_records(
        self,
        *,
        app: str = "",
        user: str | types.NoUser | None = None,
        thread_id: str = "",
        after_thread_id: str = "",
        timeout: float | None = None,
    ) -> Iterator[v1.Record]:
        """The records of an export, for import_records: all data of the tenant, or that of an
        app, of a user of the app, or of a thread. An export that does not end with its summary
        is incomplete. Write one record to a line with
        `google.protobuf.json_format.MessageToJson(record, indent=None)`.

        Args:
            app: the app. Empty: all apps.
            user: the user of the app. None: all users; NO_USER: the data that belongs to none.
            thread_id: the thread, without memories and documents. Empty: all threads.
            after_thread_id: continues an export that ended early, after this thread.
            timeout: the seconds that the export may take. Default: no limit.
        """
        request = make(v1.ExportRecordsRequest, after_thread_id=after_thread_id)
        if thread_id:
            request.target.thread.thread_id = thread_id
        elif user is not None:
            request.target.user.CopyFrom(_requests.user_ref(app, user))
        elif app:
            request.target.app.app_id = app
        stream = self.stubs.transfer.ExportRecords(request, timeout=timeout)
        try:
            for response in stream:
                yield response.record
        except grpc.RpcError as failed:
            raise call_error(failed, self._channels.connection.settings, _EXPORT) from failed
        finally:
            stream.cancel()

    def import_records(
        self,
        records: Iterable[v1.Record],
        *,
        replace: bool = False,
        new_ids: bool = False,
        timeout: float | None = None,
    ) -> types.ImportedRecords:
        """Stores the records of an export, in its order. Importing them again stores nothing
        twice. A refused record does not stop the others.

        Args:
            records: the records, such as those of another client's export_records.
            replace: overwrites policies, files, plans, checkpoints and documents that exist
                with other content.
            new_ids: stores everything as new, also what an earlier import stored.
            timeout: the seconds that the import may take. Default: no limit.
        """

        def requests() -> Iterator[v1.ImportRecordsRequest]:
            options: v1.ImportOptions | None = v1.ImportOptions(replace=replace, new_ids=new_ids)
            for record in records:
                yield v1.ImportRecordsRequest(options=options, record=record)
                options = None

        refused: list[v1.RefusedRecord] = []
        summary = v1.ImportSummary()
        stream = self.stubs.transfer.ImportRecords(requests(), timeout=timeout)
        try:
            for response in stream:
                answer = response.WhichOneof("answer")
                if answer == "refused":
                    refused.append(response.refused)
                elif answer == "summary":
                    summary = response.summary
        except grpc.RpcError as failed:
            raise call_error(failed, self._channels.connection.settings, _IMPORT) from failed
        finally:
            stream.cancel()
        return types.ImportedRecords(summary=summary, refused=refused)
