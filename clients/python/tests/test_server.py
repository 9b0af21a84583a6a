"""The clients against a real server."""

from __future__ import annotations

import asyncio
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import grpc
import pytest

from recollect import NO_USER, AsyncRecollect, Recollect, errors, event, message, render, types, v1


def test_a_chat_turn(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    assert memory.context("Hello").messages == [{"role": "user", "content": "Hello"}]
    appended = memory.append(user="My dog is called Pixel.", assistant="A fine name!")
    assert appended.thread_created and not appended.replayed
    assert len(appended.message_ids) == 2

    context = memory.context("What is my dog called?", system="You help.")
    assert context.messages == [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "My dog is called Pixel."},
        {"role": "assistant", "content": "A fine name!"},
        {"role": "user", "content": "What is my dog called?"},
    ]
    assert context.cuts == () and context.system is None
    assert 0 < context.total_tokens <= context.max_tokens
    with pytest.raises(ValueError, match="format='text'"):
        _ = context.text


USER, TEXT = {"role": "user"}, {"type": "text", "text": "Which?"}


@pytest.mark.parametrize(
    ("format", "system", "last"),
    [
        ("openai", None, USER | {"content": "Which?"}),
        ("openai-responses", "You help.", USER | {"type": "message", "content": "Which?"}),
        ("anthropic", "You help.", USER | {"content": [TEXT]}),
        ("gemini", {"parts": [{"text": "You help."}]}, USER | {"parts": [{"text": "Which?"}]}),
    ],
)
def test_each_format_goes_out_and_comes_back(
    client: Recollect, app: str, format: Any, system: object, last: dict[str, object]
) -> None:
    memory = client.session(app=app, user="ada", session="42")
    memory.append(user="My dog is called Pixel.", assistant="A fine name!")
    context = memory.context("Which?", system="You help.", format=(format, "text"))
    assert context.system == system
    assert context.messages[-1] == last
    assert context.text.startswith("You help.")
    memory.append(context.messages[-1], format=format, assistant="Pixel.")
    texts = [of.text for of in memory.messages()]
    assert texts == ["My dog is called Pixel.", "A fine name!", "Which?", "Pixel."]


def test_a_context_says_what_was_cut(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    for number in range(20):
        memory.append(user=f"Line {number}: " + "words and words " * 20, assistant="Noted.")
    context = memory.context("And now?", max_tokens=300, policy={"mode": "window"})
    assert context.total_tokens <= 300
    [cut] = context.cuts
    assert cut.kind == "recent" and cut.items > 30 and cut.tokens > 1000
    history = memory.history(max_tokens=300)
    assert history.truncated and history.omitted_messages == 40 - len(history)


def test_recall_says_why(client: Recollect, app: str) -> None:
    first = client.session(app=app, user="ada", session="1")
    first.append(user="My dog is called Pixel.", assistant="A fine name!")
    second = client.session(app=app, user="ada", session="2")
    second.append(user="Hello again")
    recalled = second.recall("What is the dog called?")
    why = {of.text: of.why for of in recalled}
    assert why["Hello again"][0] == "recent"
    assert "match" in why["My dog is called Pixel."]
    best = max(recalled, key=lambda of: of.score)
    assert best.rank == 1 and 0 < best.score <= 1 and best.message.thread_id
    assert recalled.method in ("hybrid", "lexical")

    [found] = second.search("dog", top_k=1)
    assert found.text == "My dog is called Pixel."
    assert not second.search("dog", scope="thread", filter={"roles": ["assistant"]})
    [found] = client.user(app=app, user="ada").recall("dog", top_k=1, filter={"roles": ["user"]})[
        :1
    ]
    assert found.text == "My dog is called Pixel."
    assert client.app(app).recall("dog", top_k=1)
    for everywhere in (client.user(app=app, user="ada"), client.app(app)):
        [found] = everywhere.search("dog", top_k=1)
        assert found.text == "My dog is called Pixel."


def test_messages_come_back_in_pages_with_what_they_had(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    said = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    memory.append(
        *[
            message(
                "user",
                f"Line {number}",
                name="Ada",
                external_id=f"line-{number}",
                metadata={"number": number, "share": 0.5, "order": 2**63 + number},
                created_at=said,
            )
            for number in range(7)
        ]
    )
    listed = list(memory.messages(page_size=3))
    assert [of.seq for of in listed] == list(range(1, 8))
    last = memory.message("line-6")
    assert last == listed[-1]
    assert (last.role, last.name, last.external_id) == ("user", "Ada", "line-6")
    assert last.metadata == {"number": 6, "share": 0.5, "order": 2**63 + 6}
    assert render([last, listed[0]], "{seq} {role} {name}: {text} at {create_time}") == [
        "7 user Ada: Line 6 at 2026-01-02T03:04:05+00:00",
        "1 user Ada: Line 0 at 2026-01-02T03:04:05+00:00",
    ]
    assert last.created_at == said and last.parent_id == listed[-2].id
    newest = memory.messages(order_by="seq desc", filter={"metadata": {"number": 3}})
    assert [of.text for of in newest] == ["Line 3"]
    # Numbers that are equal as double precision are two.
    exact = memory.messages(filter={"metadata": {"order": 2**63 + 5, "share": 0.5}})
    assert [of.text for of in exact] == ["Line 5"]
    assert memory.delete_message("line-0") and not memory.delete_message("line-0")
    with pytest.raises(errors.NotFoundError) as raised:
        memory.message("line-0")
    assert raised.value.reason == "MESSAGE_NOT_FOUND"
    with pytest.raises(errors.NotFoundError) as raised:
        client.session(app=app, user="ada", session="none").delete_message("line-1")
    assert raised.value.reason == "THREAD_NOT_FOUND"


def test_the_metadata_of_a_message_is_replaced(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    memory.append(message("user", "Hello", external_id="m1", metadata={"a": 1, "b": 2}))
    before = memory.message("m1")
    changed = memory.update_message("m1", {"order": 2**63 + 1})
    assert changed == memory.message("m1") and changed.metadata == {"order": 2**63 + 1}
    assert (changed.id, changed.text, changed.seq) == (before.id, before.text, before.seq)
    assert [of.id for of in memory.messages(filter={"metadata": {"order": 2**63 + 1}})] == [
        before.id
    ]
    assert memory.update_message(before.id, '{"price": 1.10}').proto.metadata == '{"price": 1.10}'
    assert memory.update_message("m1", None).proto.metadata == ""
    with pytest.raises(errors.NotFoundError) as raised:
        memory.update_message("m2", {})
    assert raised.value.reason == "MESSAGE_NOT_FOUND"


@pytest.mark.parametrize(
    ("format", "name"),
    [
        ("openai", "messages"),
        ("openai-responses", "input"),
        ("anthropic", "messages"),
        ("gemini", "contents"),
    ],
)
def test_a_history_is_had_in_a_providers_format(
    client: Recollect, app: str, format: Any, name: str
) -> None:
    memory = client.session(app=app, user="ada", session="42")
    memory.append(user="My dog is called Pixel.", assistant="A fine name!")
    history = memory.history(format=(format, "text"))
    assert [of.text for of in history] == ["My dog is called Pixel.", "A fine name!"]
    assert history.format == format and set(history.rendered) == {format, "text"}
    assert len(history.messages) == 2 and history.request[name] == history.messages
    assert "A fine name!" in history.text
    assert "My dog is called Pixel." in str(history.messages[0])
    plain = memory.history()
    assert (plain.format, plain.request, plain.rendered) == (None, {}, {})
    for wanted in ("messages", "text"):
        with pytest.raises(ValueError, match="format="):
            getattr(plain, wanted)


def test_a_request_id_stores_once(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    mine = str(uuid.uuid4())
    first = memory.append(user="Hello", request_id=mine)
    again = memory.append(user="Hello", request_id=mine)
    assert again.replayed and again.message_ids == first.message_ids
    with pytest.raises(errors.AlreadyExistsError) as raised:
        memory.append(user="Another", request_id=mine)
    assert raised.value.reason == "REQUEST_ID_REUSED"
    with pytest.raises(errors.ConflictError):
        memory.append(user="Another", expected_head="")


class LossyProxy(grpc.GenericRpcHandler):
    """Passes calls on to a server, and loses the answers of the first ones."""

    def __init__(self, channel: grpc.Channel, losses: int) -> None:
        self.channel = channel
        self.losses = losses
        self.calls = 0

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        pass_on: Any = self.channel.unary_unary(details.method)

        def call(request: Any, context: grpc.ServicerContext) -> Any:
            metadata = [
                entry for entry in context.invocation_metadata() if entry[0] == "authorization"
            ]
            answer = pass_on(request, metadata=metadata, timeout=30)
            self.calls += 1
            if self.calls <= self.losses:
                context.abort(grpc.StatusCode.UNAVAILABLE, "the answer is lost")
            return answer

        return grpc.unary_unary_rpc_method_handler(call)


def test_an_answer_that_is_lost_on_the_way_stores_each_message_once(
    client: Recollect, addr: str, app: str
) -> None:
    target = addr.removeprefix("http://")
    with grpc.insecure_channel(target) as channel:
        proxy = LossyProxy(channel, losses=2)
        server = grpc.server(ThreadPoolExecutor(4), handlers=[proxy])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        with Recollect(f"127.0.0.1:{port}") as lossy:
            memory = lossy.session(app=app, user="ada", session="42")
            appended = memory.append(user="My dog is called Pixel.", assistant="A fine name!")
        server.stop(None).wait()
    assert appended.replayed and proxy.calls == 3
    stored = client.session(app=app, user="ada", session="42").messages()
    assert [of.text for of in stored] == ["My dog is called Pixel.", "A fine name!"]


def test_long_term_memories(client: Recollect, app: str) -> None:
    user = client.session(app=app, user="ada", session="42").user
    event = datetime(2026, 1, 2, tzinfo=timezone.utc)
    tea = user.remember(
        "Ada likes tea.", topics=["drinks"], external_id="tea", metadata={"shelf": 2**63 + 3}
    )
    assert (tea.external_id, tea.pinned) == ("tea", False)
    assert user.remember("Ada likes tea.").id == tea.id
    trip = user.remember(
        "Ada went to Paris.", type="episodic", entities=["Paris"], event_time=event
    )
    assert (trip.type, trip.event_time) == ("episodic", event)
    assert [of.id for of in user.memories(page_size=1)] == [trip.id, tea.id]
    assert [of.id for of in user.memories(filter={"topics": ["drinks"]})] == [tea.id]
    [best, *_] = user.search_memories("tea")
    assert best.id == tea.id and best.score and best.metadata == {"shelf": 2**63 + 3}
    assert [of.id for of in user.memories(filter={"metadata": {"shelf": 2**63 + 3}})] == [tea.id]
    assert not list(user.memories(filter={"metadata": {"shelf": 2**63 + 4}}))

    profile = user.profile()
    assert profile.text == "drinks:\n- Ada likes tea.\n\n- Ada went to Paris. (2026-01-02)"
    [drink, went] = profile.entries
    assert (drink.topic, drink.memory_ids) == ("drinks", (tea.id,))
    assert (went.text, went.event_time) == ("Ada went to Paris.", event)
    assert profile.omitted == 0 and 0 < profile.total_tokens <= 500
    small = user.profile(max_tokens=1, model="gpt-4")
    assert (small.entries, small.omitted) == ((), 2)

    pinned = user.update_memory(tea.id, pinned=True, topics=[])
    assert pinned.pinned and pinned.topics == () and pinned.text == tea.text
    assert pinned.metadata == tea.metadata
    assert user.update_memory(tea.id, metadata=None).metadata == {}
    coffee = user.replace_memory(tea.id, "Ada likes coffee.")
    old = user.get_memory(tea.id)
    assert old.valid_until and old.proto.superseded_by == coffee.id
    assert user.forget(coffee.id) and not user.forget(coffee.id)
    other = client.user(app=app, user="bob")
    assert not list(other.memories())


def test_memories_are_found_by_time_and_thread_and_over_an_app(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    memory.append(user="Hello")
    days = [datetime(2026, month, 1, tzinfo=timezone.utc) for month in (1, 2, 3)]
    texts = ["Ada went to Oslo.", "Ada went to Rome.", "Ada went to Lima."]
    for text, day in zip(texts, days, strict=True):
        memory.user.remember(text, type="episodic", event_time=day)
    client.user(app=app, user="bob").remember("Bob went to Oslo.")
    client.user(app=app, user=NO_USER).remember("Trips are paid.")

    def listed(**filter: Any) -> list[str]:
        return [of.text for of in memory.user.memories(filter=filter)]  # type: ignore[arg-type]

    assert listed(event_start_time=days[1]) == texts[:0:-1]
    assert listed(event_end_time=days[1]) == texts[:1]
    found = memory.user.search_memories("went", filter={"event_start_time": days[2]})
    assert [of.text for of in found] == texts[2:]

    [oslo] = memory.user.memories(filter={"event_end_time": days[1]})
    newer = memory.user.replace_memory(oslo.id, "Ada went to Bergen.")
    assert newer.proto.valid_from
    ended = memory.user.get_memory(oslo.id).valid_until
    assert ended
    assert oslo.text in listed(as_of=ended - timedelta(microseconds=1))
    now = listed(as_of=datetime.now(timezone.utc) + timedelta(hours=1))
    assert "Ada went to Bergen." in now and oslo.text not in now
    known_until = memory.user.get_memory(oslo.id).known_until
    assert known_until
    assert oslo.text in listed(known_at=known_until - timedelta(microseconds=1))
    assert oslo.text not in listed(known_at=known_until)

    before = ended - timedelta(microseconds=1)
    assert oslo.text in memory.user.profile(as_of=before).text
    assert oslo.text in memory.user.profile(as_of=before, known_at=before).text
    assert oslo.text not in memory.user.profile().text
    question = "Where did Ada go?"
    assert oslo.text in memory.context(question, format="text", as_of=before).text
    assert oslo.text not in memory.context(question, format="text").text

    # Those that a caller adds come from no thread.
    assert listed(thread=memory.ref) == []
    memory.put_working_memory(memories=["Ada collects maps."])
    assert listed(thread=memory.ref) == ["Ada collects maps."]
    assert listed(thread=client.thread(memory.get().id).ref) == ["Ada collects maps."]

    owner = client.app(app)
    assert {of.user for of in owner.memories(page_size=2)} == {"ada", "bob", ""}
    assert len(list(owner.memories(filter={"thread": memory.ref}))) == 1
    users = {of.text: of.user for of in owner.search_memories("went to", top_k=10)}
    assert users["Bob went to Oslo."] == "bob" and users["Ada went to Rome."] == "ada"
    assert [of.text for of in client.user(app=app, user="bob").search_memories("went to")] == [
        "Bob went to Oslo."
    ]


def test_memories_are_extracted_on_request(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    memory.create(policy={"extraction": "discrete"})
    nothing = memory.extract_memories()
    assert nothing.complete and nothing.waiting_messages == 0
    memory.append(user="My name is Ada and I live in Oslo.", assistant="Good to know.")
    done = memory.extract_memories(timedelta(seconds=20))
    assert (done.complete, done.waiting_messages, done.last_error) == (True, 0, "")
    assert all(of.origin == "extracted" for of in memory.user.memories())
    other = client.session(app=app, user=NO_USER, session="42")
    other.append(user="Hello")
    with pytest.raises(errors.PreconditionError) as raised:
        other.extract_memories(max_wait=1.5)
    assert raised.value.reason == "EXTRACTION_OFF"


def test_users_are_deleted_with_a_receipt(client: Recollect, app: str) -> None:
    user = f"ada-{uuid.uuid4()}"
    apps = [app, f"{app}-2", f"{app}-3"]
    for one in apps:
        client.session(app=one, user=user, session="42").append(user="Hello")
    started = client.admin.delete_user(user, app=apps[0])
    assert (started.app, started.user) == (apps[0], user)
    assert finished(client, started.id).places
    left = [len(list(client.user(app=one, user=user).threads())) for one in apps]
    assert left == [0, 1, 1]

    everywhere = client.admin.delete_user(user, all_apps=True)
    assert (everywhere.app, everywhere.user) == ("", user)
    receipt = finished(client, everywhere.id)
    messages = next(of for of in receipt.places if of.name == "messages")
    assert (messages.deleted, messages.remaining) == (2, 0) and receipt.finished_at
    assert not any(list(client.user(app=one, user=user).threads()) for one in apps)

    listed = {of.id: of for of in client.admin.deletions(page_size=1)}
    assert list(listed).index(everywhere.id) < list(listed).index(started.id)
    assert listed[started.id].finished and listed[started.id].places == ()
    with pytest.raises(errors.NotFoundError) as raised:
        client.admin.deletion(str(uuid.uuid4()))
    assert raised.value.reason == "DELETION_NOT_FOUND"
    for wrong in ({}, {"app": app, "all_apps": True}):
        with pytest.raises(ValueError, match="all_apps=True"):
            client.admin.delete_user(user, **wrong)  # type: ignore[arg-type]


def finished(client: Recollect, deletion_id: str) -> types.Deletion:
    """The receipt once everything is erased."""
    end = time.monotonic() + 60
    while not (found := client.admin.deletion(deletion_id)).finished:
        assert time.monotonic() < end, found
        time.sleep(0.1)
    return found


def test_the_audit_log_is_filtered(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    appended = memory.append(message("user", "Hello"), message("user", "Hello?"))
    memory.delete_message(appended.message_ids[0])
    memory.update_message(appended.message_ids[1], {"a": 1})
    log = list(client.admin.transactions(thread=memory.ref, page_size=1))
    assert [of.action for of in log] == [
        "update_message",
        "delete_message",
        "append_messages",
        "create_thread",
    ]
    assert {of.thread_id for of in log} == {appended.thread_id}
    assert {of.result for of in log} == {"committed"}
    assert (log[1].subject, log[2].items) == (appended.message_ids[0], 2)

    def actions(**filter: Any) -> list[str]:
        return [of.action for of in client.admin.transactions(thread=memory.ref, **filter)]

    wanted = ["delete_message", "append_messages"]
    assert actions(actions=wanted) == wanted
    deleted_at = log[1].created_at
    assert actions(start_time=deleted_at) == ["update_message", "delete_message"]
    assert actions(end_time=deleted_at) == ["append_messages", "create_thread"]
    assert actions(actor=log[0].actor, actions=["set_head"]) == [] == actions(actor="nobody")
    with pytest.raises(ValueError, match="'delete' is none of: create_thread, "):
        actions(actions=["delete"])


def test_threads_branches_and_heads(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    thread = memory.create(title="Travel", metadata={"plan": 1}, ttl=timedelta(hours=1))
    assert thread.title == "Travel" and thread.metadata == {"plan": 1} and thread.expires_at
    assert memory.create(title="Other").title == "Travel"
    asked = memory.append(user="Where to?", assistant="Paris.").message_ids
    memory.append(message("assistant", "Rome.", parent=asked[0]))
    assert [of.text for of in memory.history()] == ["Where to?", "Rome."]
    first, second = memory.branches()
    assert (first.head, second.fork, second.active) == (asked[1], asked[0], True)
    assert memory.set_head(asked[1]).head == asked[1]
    assert [of.text for of in memory.history()] == ["Where to?", "Paris."]
    assert [of.text for of in memory.history(head=second.head)] == ["Where to?", "Rome."]
    assert len(list(memory.messages())) == 3

    same = client.thread(thread.id)
    changed = same.update(title="Journey", etag=same.get().etag)
    assert (changed.title, changed.metadata) == ("Journey", {"plan": 1})
    assert changed.expires_at == thread.expires_at
    assert same.update(ttl=None).expires_at is None
    changed = same.update(title="Trip home")
    with pytest.raises(errors.ConflictError) as raised:
        same.update(title="Trip", etag=thread.etag)
    assert raised.value.metadata["etag"] == changed.etag

    client.session(app=app, user="bob", session="1").append(user="Hello")
    assert {of.user for of in client.app(app).threads(page_size=1)} == {"ada", "bob"}
    assert [of.id for of in client.user(app=app, user="ada").threads()] == [thread.id]
    assert [of.id for of in client.app(app).threads(metadata={"plan": 1})] == [thread.id]
    users = {of.id: of.message_count for of in client.app(app).users()}
    assert users == {"ada": 3, "bob": 1}
    assert app in list(client.apps())

    assert memory.clear() == 3
    assert list(memory.history()) == []
    assert memory.delete() and not memory.delete()
    assert not client.thread(str(uuid.uuid4())).delete()
    with pytest.raises(errors.NotFoundError) as missing:
        memory.get()
    assert missing.value.reason == "THREAD_NOT_FOUND"


def test_policies(client: Recollect, app: str) -> None:
    owner, memory = client.app(app), client.session(app=app, user="ada", session="42")
    assert owner.policy() == {}
    assert owner.set_policy({"mode": "window", "window_size": 7}) == {
        "mode": "window",
        "window_size": 7,
    }
    assert owner.set_policy({"window_size": None, "top_k": 9}) == {"mode": "window", "top_k": 9}
    memory.create(policy={"mode": "hybrid"})
    memory.set_policy({"top_k": 8})
    effective = memory.policy({"recent_window": 1})
    assert effective.values["mode"] == "hybrid" and effective.values["top_k"] == 8
    assert effective.origins == {"mode": "thread", "top_k": "thread", "recent_window": "request"}
    assert memory.set_policy({"mode": None}).proto.policy == v1.MemoryPolicy(top_k=8)
    assert owner.delete_policy() and not owner.delete_policy()


def test_stubs_reach_everything_else(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    memory.append(user="Plan my week.")
    steps = [v1.PlanStep(step_id="1", title="Monday")]
    plan = v1.Plan(goal="Plan the week", steps=steps)
    client.stubs.plan.PutPlan(v1.PutPlanRequest(thread=memory.ref, plan=plan))
    stored = client.stubs.plan.GetPlan(v1.GetPlanRequest(thread=memory.ref)).plan
    assert stored.goal == "Plan the week"
    with pytest.raises(errors.NotFoundError) as raised:
        client.stubs.plan.GetPlan(v1.GetPlanRequest(thread=client.thread(str(uuid.uuid4())).ref))
    assert raised.value.reason == "THREAD_NOT_FOUND"


def test_events_are_kept_beside_the_messages(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    [asked] = memory.append(user="Plan my week.").message_ids
    mine = str(uuid.uuid4())
    happened = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    started = event("run_started", {"run": 2**63 + 1}, created_at=happened)
    ended = event("run_ended", message_id="")
    appended = memory.append_events(started, ended, request_id=mine)
    assert (appended.first_number, appended.count, appended.replayed) == (1, 2, False)
    assert memory.append_events(started, ended, request_id=mine).replayed
    first, second = memory.events(page_size=1)
    assert (first.number, first.type, first.data) == (1, "run_started", {"run": 2**63 + 1})
    assert (first.created_at, first.message_id) == (happened, asked)
    assert (second.type, second.data, second.message_id) == ("run_ended", None, "")
    assert [of.number for of in memory.events(order_by="number desc")] == [2, 1]
    assert [of.number for of in memory.events(types=["run_ended"])] == [2]
    assert [of.number for of in memory.events(end_time=happened + timedelta(1))] == [1]
    assert memory.history(include_events=True).events == (first,)
    assert memory.history().events == ()


def test_parts_of_a_working_memory_are_replaced(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    said = message("user", "My dog is called Pixel.", created_at=datetime.now(timezone.utc))
    put = memory.put_working_memory(
        messages=[said],
        summary="They greet.",
        memories=["Ada has a dog."],
        data={"ticket": 2**63 + 1, "open": True},
        ttl=timedelta(hours=1),
        absent=True,
    )
    assert [of.text for of in put.messages] == ["My dog is called Pixel."] and not put.warnings
    assert [of.text for of in put.memories] == ["Ada has a dog."]
    assert put.data == {"ticket": 2**63 + 1, "open": True} and put.expires_at
    # What is not passed stays.
    answer = message("assistant", "A fine name!", created_at=datetime.now(timezone.utc))
    more = memory.put_working_memory(messages=[*put.messages, answer], etag=put.etag)
    assert [of.text for of in more.messages] == ["My dog is called Pixel.", "A fine name!"]
    assert [of.id for of in more.messages][0] == put.messages[0].id
    assert (more.summary, more.data, more.expires_at) == (put.summary, put.data, put.expires_at)
    assert [of.id for of in more.memories] == [of.id for of in put.memories]
    with pytest.raises(errors.ConflictError):
        memory.put_working_memory(summary="Other", etag=put.etag)
    with pytest.raises(errors.ConflictError):
        memory.put_working_memory(summary="Other", absent=True)
    assert memory.update_working_data({"open": None, "who": "Bob"}) == {
        "ticket": 2**63 + 1,
        "who": "Bob",
    }
    # None clears.
    cleared = memory.put_working_memory(summary=None, memories=None, data=None, ttl=None)
    assert (cleared.summary, cleared.memories, cleared.data) == ("", (), {})
    assert cleared.expires_at is None and len(cleared.messages) == 2
    assert memory.working_memory().messages == cleared.messages
    assert memory.delete_working_memory() and not memory.delete_working_memory()
    assert len(list(memory.messages())) == 2


def test_a_context_and_a_recall_explain_themselves(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="1")
    for number in range(8):
        memory.append(user=f"Dog number {number}.")
    other = client.session(app=app, user="ada", session="2")
    context = other.context("dog", policy={"top_k": 2}, explain=True)
    assert context.policy and context.policy.values["top_k"] == 2
    assert context.policy.origins["top_k"] == "request"
    assert {of.reason for of in context.omitted} & {"rank", "duplicate"}
    recalled = other.recall("dog", top_k=2, explain=True)
    assert recalled.policy and recalled.policy.values["top_k"] == 2 and recalled.omitted
    assert all(of.message_id for of in recalled.omitted)
    for plain in (other.context("dog"), other.recall("dog")):
        assert plain.policy is None and plain.omitted == ()
    limited = memory.context("dog", max_tokens=100, reserve_tokens=60)
    assert limited.total_tokens <= 40


def test_a_watch_sees_appends_and_ends_with_the_thread(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    memory.create()
    seen = []
    for change in memory.watch(include_content=True):
        kind = change.WhichOneof("event")
        seen.append(kind)
        if kind == "started":
            memory.append(user="Hello")
        elif kind == "messages_appended":
            assert change.messages_appended.messages[0].message.parts[0].text == "Hello"
            memory.delete()
    assert seen[0] == "started" and seen[-1] == "thread_deleted" and "messages_appended" in seen


def test_a_subscription_delivers_changes(client: Recollect, app: str) -> None:
    name = f"s-{app}"[:64]
    made = client.subscriptions.create(name, app=app, actions=["append_messages"])
    assert made.subscription.enabled and made.secret == ""
    memory = client.session(app=app, user="ada", session="42")
    memory.append(user="Hello")
    memory.append(user="Again")
    events = client.subscriptions.events(name)
    assert [next(events).item_count, next(events).user_id] == [1, "ada"]
    del events
    assert name in [one.name for one in client.subscriptions.list()]
    assert not client.subscriptions.update(name, enabled=False, actions=None).enabled
    assert not client.subscriptions.get(name).actions
    with pytest.raises(errors.InvalidArgumentError, match="with a URL"):
        client.subscriptions.rotate_secret(name)
    assert client.subscriptions.delete(name) and not client.subscriptions.delete(name)


def test_records_are_exported_and_imported(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="42")
    memory.append(user="My dog is called Pixel.", assistant="A fine name!")
    memory.user.remember("Ada likes tea.")
    records = list(client.export_records(app=app))
    assert records[-1].summary.message_count == 2
    known = client.import_records(records)
    assert known.complete and known.summary.checksum == records[-1].summary.checksum
    assert known.summary.known.message_count == 2 and known.summary.stored.message_count == 0

    # A copy for another user, with new ids, in which one record is broken.
    copies = []
    for record in records[:-1]:
        copy = v1.Record()
        copy.CopyFrom(record)
        if copy.WhichOneof("kind") == "thread":
            copy.thread.user_id = "bob"
        if copy.WhichOneof("kind") != "memory":
            copies.append(copy)
    copies.append(v1.Record(plan=v1.Plan()))
    copied = client.import_records(iter(copies), new_ids=True)
    assert [one.position for one in copied.refused] == [len(copies) - 1]
    assert copied.refused[0].error.field.startswith("record.plan")
    assert not copied.complete
    assert copied.summary.completeness == v1.EXPORT_COMPLETENESS_INCOMPLETE
    texts = [of.text for of in client.session(app=app, user="bob", session="42").messages()]
    assert texts == ["My dog is called Pixel.", "A fine name!"]
    with pytest.raises(errors.InvalidArgumentError) as raised:
        list(client.export_records(thread_id="no-uuid"))
    assert raised.value.fields[0].field == "target.thread.thread_id"


def test_the_async_client_does_the_same(addr: str, app: str) -> None:
    async def main() -> None:
        async with AsyncRecollect(addr) as client:
            memory = client.session(app=app, user="ada", session="42")
            await memory.append(user="My dog is called Pixel.", assistant="A fine name!")
            context, recalled = await asyncio.gather(
                memory.context("What is my dog called?", format="anthropic"),
                memory.recall("dog"),
            )
            assert context.request["messages"][-1]["role"] == "user"
            assert [of.text for of in recalled] == ["My dog is called Pixel.", "A fine name!"]
            assert [of.seq async for of in memory.messages(page_size=1)] == [1, 2]
            remembered = await memory.user.remember("Ada likes tea.")
            assert [of.id async for of in memory.user.memories()] == [remembered.id]
            assert [of.session async for of in client.app(app).threads()] == ["42"]
            assert len(await memory.branches()) == 1
            assert [of.text async for of in client.app(app).memories()] == ["Ada likes tea."]
            log = [of.action async for of in client.admin.transactions(thread=memory.ref)]
            assert log == ["append_messages", "create_thread"]
            with pytest.raises(errors.InvalidArgumentError) as raised:
                await memory.history(max_tokens=-1)
            assert raised.value.fields[0].field == "max_tokens"
            found = await client.stubs.thread.GetThread(v1.GetThreadRequest(thread=memory.ref))
            assert found.thread.message_count == 2
            imported = await client.import_records(client.export_records(app=app))
            assert imported.complete and imported.summary.known.message_count == 2
            async for change in memory.watch():
                if change.WhichOneof("event") == "started":
                    await memory.delete()

    asyncio.run(main())
