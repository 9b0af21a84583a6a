"""What calls take and return.

Times are timezone-aware datetimes, durations are timedeltas or seconds, and token counts are
of the tokenizer that a result names, or else of `o200k_base`. Each result has its message of
the contract as `proto`, for the fields that are not named here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final, Generic, Literal, Required, TypedDict, TypeVar, overload

from recollect import v1
from recollect.errors import invalid

Role = Literal["user", "assistant", "system", "tool"]
Format = Literal["openai", "openai-responses", "anthropic", "gemini", "text"]
"""A provider's message format: `openai` is chat completions, which many providers offer."""
ProviderFormat = Literal["openai", "openai-responses", "anthropic", "gemini"]
"""A format that messages can be appended in."""
Mode = Literal["none", "window", "hybrid", "node", "working", "observational"]
Scope = Literal["thread", "user", "app", "space"]
Method = Literal["hybrid", "dense", "lexical"]
"""How a query is matched: by meaning and by keyword, by meaning, or by keyword."""
MemoryType = Literal["semantic", "episodic"]
MessageOrder = Literal["seq", "seq desc"]
EventOrder = Literal["number", "number desc"]
Duration = timedelta | float
"""A timedelta, or seconds."""
JsonObject = Mapping[str, Any] | str
"""A dict, or the JSON text of an object, which is sent as it is."""
MetadataFilter = Mapping[str, str | float | bool | None] | str
"""Values that metadata must have: each of these keys with exactly this value. Or their JSON
text, as in JsonObject."""


class Unchanged(Enum):
    """The type of UNCHANGED."""

    UNCHANGED = "UNCHANGED"

    def __repr__(self) -> str:
        return self.value


UNCHANGED: Final = Unchanged.UNCHANGED
"""The default of arguments that leave a value as it is. None clears the value."""


class NoUser(Enum):
    """The type of NO_USER."""

    NO_USER = "NO_USER"

    def __repr__(self) -> str:
        return self.value


NO_USER: Final = NoUser.NO_USER
"""Stands for data that belongs to no user, where a user is named."""


class MemoryKindExample(TypedDict, total=False):
    """A text and the memory of a kind that it becomes."""

    said: Required[str]
    """What a user said: 1 to 1,024 characters."""
    text: Required[str]
    """The text of the memory: 1 to 1,024 characters."""
    attributes: JsonObject
    """Its attributes, which fit the kind's schema."""


class MemoryKind(TypedDict, total=False):
    """A kind of memories that an app defines."""

    name: Required[str]
    """1 to 64 of a-z, 0-9 and `_`, beginning with a letter."""
    description: Required[str]
    """What is of this kind, for people and language models: 1 to 1,024 characters."""
    json_schema: JsonObject
    """The JSON Schema that the attributes fit: at most 8 KiB. Default: they have none."""
    examples: Sequence[MemoryKindExample]
    """What becomes a memory of this kind: at most 8."""


class Policy(TypedDict, total=False):
    """Fields of a memory policy. MemoryPolicy in docs/api.md has each one's range and default.

    In a call of `set_policy`, None clears a field.
    """

    mode: Mode | None
    window_enabled: bool | None
    window_size: int | None
    recent_window: int | None
    top_k: int | None
    neighbors_before: int | None
    neighbors_after: int | None
    min_score: float | None
    scope: Scope | None
    user_label: str | None
    assistant_label: str | None
    query_prompt_template: str | None
    shared_session_default: bool | None
    flow_session_default: bool | None
    extraction: Literal["none", "discrete", "summary", "preferences", "custom"] | None
    extraction_instructions: str | None
    ttl: Duration | None
    node_ttl: Duration | None
    summarize: bool | None
    context_window: int | None
    context_tokens: int | None
    summarization_threshold: float | None
    observer_tokens: int | None
    reflector_tokens: int | None
    memories_top_k: int | None
    profile_tokens: int | None
    memory_space: str | None
    rebuild_expired: bool | None
    memory_max_age: Duration | None
    memory_max_inactivity: Duration | None
    memory_max_count: int | None
    file_delivery: Literal["auto", "url", "inline", "text"] | None
    file_types: Sequence[Literal["image", "audio", "video", "document", "custom"]] | None
    image_detail: Literal["auto", "low", "high"] | None
    redaction: Literal["off", "replace", "refuse"] | None
    redacted_kinds: Sequence[Literal["secret", "card", "email", "phone"]] | None
    memory_kinds: Sequence[MemoryKind] | None
    never_keep: Sequence[str] | None


class Filter(TypedDict, total=False):
    """Selects messages; all conditions must hold."""

    roles: Sequence[Role]
    names: Sequence[str]
    """The speakers' names: at most 32."""
    user_ids: Sequence[str]
    """The users who said them, as the messages themselves name them: at most 32."""
    start_time: datetime
    """The earliest time of a message, included."""
    end_time: datetime
    """The latest time of a message, excluded."""
    metadata: MetadataFilter
    """Values that the message's metadata must have: at most 16."""


class MemoryFilter(TypedDict, total=False):
    """Selects memories; all conditions must hold."""

    type: MemoryType
    topics: Sequence[str]
    """Any of these topics: at most 16."""
    entities: Sequence[str]
    """Any of these entities: at most 16."""
    thread: v1.ThreadRef
    """The thread that they came from, such as `session.ref`."""
    origins: Sequence[Literal["caller", "working_memory", "extracted"]]
    start_time: datetime
    """The earliest time of storing, included."""
    end_time: datetime
    """The latest time of storing, excluded."""
    event_start_time: datetime
    """The earliest event_time, included."""
    event_end_time: datetime
    """The latest event_time, excluded."""
    as_of: datetime
    """The time at which they were true; memories superseded since are included."""
    known_at: datetime
    """The time at which they were believed; memories superseded since are included. With `as_of`:
    those then believed to have been true at `as_of`."""
    include_superseded: bool
    metadata: MetadataFilter
    """Values that the memory's metadata must have: at most 16."""
    kinds: Sequence[str]
    """Any of these kinds of the app's policy: at most 32."""


@dataclass(frozen=True)
class Message:
    """A stored message."""

    id: str
    role: Role
    text: str
    """The text parts, joined by newlines; `parts` have everything."""
    name: str
    """The speaker's name, or empty."""
    said_by: str
    """The user who said it, where the message names one. Empty: the thread's user, if a user said
    it."""
    created_at: datetime
    metadata: dict[str, Any]
    """The caller's own data. `proto.metadata` has its text, with all digits of its numbers."""
    external_id: str
    """The caller's own id, or empty."""
    thread_id: str
    parent_id: str
    """The message that this one follows, or empty."""
    seq: int
    """The position in the thread, from 1."""
    tokens: int
    proto: v1.Message = field(repr=False, compare=False)

    @property
    def parts(self) -> Sequence[v1.Part]:
        """The content as it was appended."""
        return self.proto.parts


@dataclass(frozen=True)
class Appended:
    """Where messages were stored."""

    message_ids: tuple[str, ...]
    thread_id: str
    thread_created: bool
    replayed: bool
    """True if the messages had been stored before, under this request id or their ids."""
    revision: str
    """Names this write, for `at_least_as_fresh`."""
    proto: v1.AppendMessagesResponse = field(repr=False, compare=False)


@dataclass(frozen=True)
class Degradation:
    """One way in which a result is incomplete."""

    reason: str
    """Such as `index_unavailable`."""
    message: str


@dataclass(frozen=True)
class NamedTime:
    """A past time that a query names. Messages of this time come first."""

    text: str
    """The words of the query, such as `last week`."""
    start_time: datetime
    end_time: datetime
    """The moment after the last one."""


@dataclass(frozen=True)
class Cut:
    """What one block of a context, or one kind of recalled messages, lacks."""

    kind: str
    """The block, such as `recent`, `recalled` or `memories`; or why messages were recalled."""
    items: int
    """The number of items that were left out. 0: texts were only shortened."""
    tokens: int


@dataclass(frozen=True)
class Omitted:
    """An item that was left out, and why. One of message_id, memory_id and number is set."""

    kind: str
    """The block of a context that it would have been in, such as `recalled`. Empty: it was left
    out of a recall."""
    reason: str
    """Such as `budget`, `duplicate`, `threshold`, `rank` or `branch`."""
    score: float
    """The relevance, 0.0 to 1.0. 0: it is no match."""
    message_id: str
    memory_id: str
    number: int
    """The number of the summary or observation. 0: it is neither."""


@dataclass(frozen=True)
class EffectivePolicy:
    """The policy that applies."""

    values: dict[str, Any]
    """Each field's value, named as in `Policy`; durations in seconds."""
    origins: dict[str, str]
    """Where a value that is no default comes from: `server`, `app`, `thread` or `request`."""
    proto: v1.EffectivePolicy = field(repr=False, compare=False)


class _Rendered:
    """What was rendered for providers, as far as it was asked for."""

    request: dict[str, Any]
    rendered: dict[Format, str]

    @property
    def messages(self) -> list[Any]:
        """The messages of the provider's request: dicts, which are typed as Any so that every
        provider's package takes them. Anthropic, Gemini and OpenAI's
        responses take the system prompt apart from them: see `system` and `request`."""
        for name in ("messages", "input", "contents"):
            if name in self.request:
                messages: list[Any] = self.request[name]
                return messages
        raise invalid("format", "names no provider: pass one, such as format='openai'")

    @property
    def system(self) -> Any:
        """The system prompt of a format that takes it apart from the messages, or None."""
        for name in ("system", "instructions", "systemInstruction"):
            if name in self.request:
                return self.request[name]
        return None

    @property
    def text(self) -> str:
        """Everything as plain text, for completion models."""
        if "text" not in self.rendered:
            raise invalid(
                "format",
                "has no text: ask for it with format='text', or for both, such as "
                "format=('openai', 'text')",
            )
        return self.rendered["text"]


@dataclass(frozen=True)
class Context(_Rendered):
    """What a model is to be sent."""

    format: Format | None
    request: dict[str, Any]
    """The fields of the provider's request that hold the conversation; add the model and the
    other settings. Empty without a provider's format."""
    total_tokens: int
    max_tokens: int
    """The budget that applied."""
    cuts: tuple[Cut, ...]
    """What was left out for the budget. Empty: nothing."""
    degradations: tuple[Degradation, ...]
    """What is missing because a part of the server was unavailable. Empty: nothing."""
    named_times: tuple[NamedTime, ...]
    """The past times that the query names. Empty: none was understood."""
    pending_count: int
    """Messages and memories of the search that are not indexed yet. Above 0: once they are, the
    same call may find others."""
    policy: EffectivePolicy | None
    """The policy that applied, with `explain=True`."""
    omitted: tuple[Omitted, ...]
    """What was left out, and why, with `explain=True`."""
    rendered: dict[Format, str] = field(repr=False)
    """The body in each format that was asked for."""
    proto: v1.BuildContextResponse = field(repr=False, compare=False)


T = TypeVar("T")


@dataclass(frozen=True)
class _Found(Sequence[T], Generic[T]):
    items: tuple[T, ...]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)


@dataclass(frozen=True)
class Recalled:
    """A message that was found, and why."""

    message: Message
    why: tuple[Literal["recent", "match", "neighbor"], ...]
    """`recent`: it is one of the newest. `match`: it matches the query. `neighbor`: it is
    beside a match."""
    score: float
    """The match's relevance, 0.0 to 1.0, comparable within a result. 0: it is no match."""
    rank: int
    """The rank among the matches, from 1. 0: it is no match."""
    dense_score: float | None
    """The cosine similarity to the query, if it was found by meaning."""
    lexical_score: float | None
    """The BM25 score, if it was found by keyword."""

    @property
    def text(self) -> str:
        """The message's text."""
        return self.message.text


@dataclass(frozen=True)
class RecallResult(_Found[Recalled]):
    """What was found: a sequence."""

    cuts: tuple[Cut, ...]
    """What was found and did not fit. Empty: everything fits."""
    degradations: tuple[Degradation, ...]
    method: Method | None
    """How messages were matched. None: nothing was searched."""
    named_times: tuple[NamedTime, ...]
    """The past times that the query names. Empty: none was understood."""
    policy: EffectivePolicy | None
    """The policy that applied, with `explain=True`."""
    omitted: tuple[Omitted, ...]
    """What was left out, and why, with `explain=True`."""
    proto: v1.RecallResponse | v1.SearchResponse = field(repr=False, compare=False)


@dataclass(frozen=True)
class Event:
    """An entry of a conversation's event log."""

    number: int
    """The position in the log, from 1."""
    type: str
    """The kind of event, such as `execution_failed`."""
    data: Any
    """The event's data, parsed. None: it has none. `proto.json` has its text."""
    created_at: datetime
    message_id: str
    """The message that it belongs to, by its id or external id. Empty: none."""
    proto: v1.AgentEvent = field(repr=False, compare=False)


@dataclass(frozen=True)
class AppendedEvents:
    """Where events were stored."""

    first_number: int
    """The number of the first event; those of the others follow it."""
    count: int
    replayed: bool
    """True if the events had been stored before, under this request id."""
    proto: v1.AppendEventsResponse = field(repr=False, compare=False)


@dataclass(frozen=True)
class History(_Found[Message], _Rendered):
    """A conversation in whole turns, oldest first: a sequence of stored messages. With `format`,
    `messages`, `request`, `text` and `rendered` are as in a Context."""

    format: Format | None
    request: dict[str, Any]
    """The fields of the provider's request that hold the conversation; add the model and the
    other settings. Empty without a provider's format."""
    total_tokens: int
    truncated: bool
    """True if older turns, or older steps of the newest turn, were left out."""
    omitted_messages: int
    """The number of messages of the conversation that are not in it."""
    events: tuple[Event, ...]
    """The events that belong to its messages, by number, with `include_events=True`."""
    rendered: dict[Format, str] = field(repr=False)
    """The body in each format that was asked for."""
    proto: v1.GetHistoryResponse = field(repr=False, compare=False)


@dataclass(frozen=True)
class Memory:
    """A long-term memory of a user."""

    id: str
    user: str
    """Empty: it belongs to no user of the app."""
    text: str
    type: MemoryType
    topics: tuple[str, ...]
    entities: tuple[str, ...]
    pinned: bool
    """True: no policy deletes it."""
    metadata: dict[str, Any]
    """The caller's own data. `proto.metadata` has its text, with all digits of its numbers."""
    kind: str
    """The name of its kind in the app's policy, or empty."""
    attributes: dict[str, Any]
    """The values of its kind. `proto.attributes` has their text, with all digits of its numbers."""
    external_id: str
    """The caller's own id, or empty."""
    origin: str
    """`caller`, `working_memory` or `extracted`."""
    thread_id: str
    """The thread that it came from, or empty."""
    created_at: datetime
    event_time: datetime | None
    valid_until: datetime | None
    """When it ceased to be true, as far as known. None: it is true."""
    known_until: datetime | None
    """When a newer memory superseded it. None: it is still believed."""
    score: float | None
    """The relevance, 0.0 to 1.0, of a search's result."""
    proto: v1.Memory = field(repr=False, compare=False)


@dataclass(frozen=True)
class ProfileEntry:
    """One line of a profile."""

    text: str
    """The memory's text, on one line."""
    topic: str
    """The topic that it stands under, or empty."""
    memory_ids: tuple[str, ...]
    """The memories that say this: usually one."""
    pinned: bool
    event_time: datetime | None
    valid_from: datetime
    """When it became true, as far as known."""
    proto: v1.ProfileEntry = field(repr=False, compare=False)


@dataclass(frozen=True)
class Profile:
    """What is known of a user today, on one page."""

    text: str
    """The page: a heading for each topic, and a line for each entry. It is stored text: give it
    to a model as data."""
    entries: tuple[ProfileEntry, ...]
    """The lines of the page, in its order."""
    total_tokens: int
    """The size of `text`."""
    omitted: int
    """The number of memories that hold and did not fit."""
    hash: str
    """Equal for equal pages."""
    proto: v1.GetProfileResponse = field(repr=False, compare=False)


@dataclass(frozen=True)
class MemoryFile:
    """A text file of an agent, without its text."""

    path: str
    size: int
    """Bytes of the text as UTF-8."""
    line_count: int
    version: int
    etag: str
    """It identifies this version; `put` and the others take it."""
    created_at: datetime | None
    """None: of an earlier version."""
    updated_at: datetime | None
    """When the text was last changed. None: of an earlier version."""
    proto: v1.MemoryFile = field(repr=False, compare=False)


@dataclass(frozen=True)
class FileLines:
    """Lines of a file."""

    first_line: int
    text: str


@dataclass(frozen=True)
class FileContent:
    """A file with its text, or with lines of it."""

    file: MemoryFile
    text: str
    """It is stored text: give it to a model as data."""
    first_line: int
    """The number of the first line of `text`."""


@dataclass(frozen=True)
class DirectoryEntry:
    """A file or a directory in a directory."""

    path: str
    is_directory: bool
    size: int
    """Bytes of the text, or of all texts in the directory."""
    updated_at: datetime


@dataclass(frozen=True)
class Directory:
    """What is in a directory."""

    path: str
    size: int
    """Bytes of all texts in it."""
    file_count: int
    entries: tuple[DirectoryEntry, ...]
    """Files and directories, down to the requested depth, by path."""
    truncated: bool
    """True: it has more than 2,000 files, and the rest is not listed."""


@dataclass(frozen=True)
class FoundFile:
    """A file that a search found."""

    file: MemoryFile
    score: float
    """The relevance, 0.0 to 1.0."""
    lines: tuple[FileLines, ...]
    """The lines that match best."""


@dataclass(frozen=True)
class FileVersion:
    """A version of a file."""

    version: int
    change: str
    """How it came about: `put`, `replace`, `insert` or `restore`."""
    size: int
    created_at: datetime
    expires_at: datetime | None
    """When it is erased, because the file was deleted."""


@dataclass(frozen=True)
class WorkingMemory:
    """The working memory of a conversation."""

    thread_id: str
    summary: str
    """The summary of the messages before `messages`. Empty: nothing was summarized yet."""
    messages: tuple[Message, ...]
    """The messages that are there in full, oldest first."""
    omitted_messages: int
    """The number of older messages in full that did not fit into the response."""
    memories: tuple[Memory, ...]
    """The long-term memories that were put into it."""
    data: dict[str, Any]
    """The conversation's own data. `proto.data` has its text, with all digits of its numbers."""
    model: str
    """The model whose window applies. Empty: the policy's context_window applies."""
    expires_at: datetime | None
    etag: str
    """Names this state, for a change that must not overwrite another one."""
    warnings: tuple[str, ...]
    """What `put_working_memory` filled in or ignored. Empty: nothing."""
    proto: v1.WorkingMemory = field(repr=False, compare=False)


@dataclass(frozen=True)
class ThreadInfo:
    """A conversation."""

    id: str
    app: str
    user: str
    """Empty: it has no user."""
    session: str
    title: str
    metadata: dict[str, Any]
    message_count: int
    head: str
    """The message that histories end at. Empty: it has no messages."""
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    ephemeral: bool
    etag: str
    """Names this state, for an update that must not overwrite another one."""
    proto: v1.Thread = field(repr=False, compare=False)


@dataclass(frozen=True)
class ImportedRecords:
    """The result of an import of records."""

    summary: v1.ImportSummary
    """What was stored, what was known, and whether the export was complete."""
    refused: list[v1.RefusedRecord]
    """The records that were not stored, by their positions, from 0, with the reasons."""

    @property
    def complete(self) -> bool:
        """Whether the records were those of a whole export, and all are stored."""
        whole = v1.EXPORT_COMPLETENESS_COMPLETE
        return not self.refused and self.summary.completeness == whole


@dataclass(frozen=True)
class Branch:
    """One linear sequence of messages of a thread."""

    number: int
    """From 1, in order of creation."""
    head: str
    """Its newest message, for `history(head=…)` and `set_head`."""
    fork: str
    """The message that it branches off from. Empty: it starts at a root."""
    message_count: int
    """The messages on the branch itself."""
    active: bool
    """True if it has the thread's head."""
    created_at: datetime
    proto: v1.Branch = field(repr=False, compare=False)


@dataclass(frozen=True)
class UserInfo:
    """A user of an app, with the size of the user's data."""

    id: str
    """Empty: the data that belongs to no user."""
    thread_count: int
    message_count: int
    memory_count: int
    last_activity: datetime | None
    proto: v1.User = field(repr=False, compare=False)


@dataclass(frozen=True)
class Extraction:
    """How far long-term memories are extracted from a conversation."""

    complete: bool
    """True if they were extracted from all messages that lead to the head."""
    waiting_messages: int
    """The number of messages that extraction has not reached."""
    last_error: str
    """Why the last attempt failed; it is repeated. Empty: it did not."""
    proto: v1.ExtractMemoriesResponse = field(repr=False, compare=False)


@dataclass(frozen=True)
class DeletionPlace:
    """A place that data was deleted from."""

    name: str
    """A table of the database, such as `messages`, or `index`."""
    deleted: int
    """The number of items that were deleted there. 0 for the index, which does not count."""
    remaining: int
    """The number of items that are left, when the receipt was read."""


@dataclass(frozen=True)
class Deletion:
    """The receipt of a deletion of a user, an app or a tenant."""

    id: str
    app: str
    """The deleted app, or that of the user. Empty: the tenant, or the user in all apps."""
    user: str | None
    """None: the app or the tenant was deleted."""
    finished: bool
    """True if everything is deleted."""
    places: tuple[DeletionPlace, ...]
    """All places, including those that had no data. Empty in a list."""
    last_error: str
    """Why the last step failed; it is repeated. Empty: it did not."""
    created_at: datetime
    finished_at: datetime | None
    proto: v1.Deletion = field(repr=False, compare=False)


@dataclass(frozen=True)
class Transaction:
    """An entry of the audit log. It has no content of messages."""

    actor: str
    """The API key that made the change by its name; `anonymous`, `cli` or `worker`."""
    action: str
    """The kind of change, such as `append_messages`; for a refusal, the call."""
    thread_id: str
    """The changed thread. Empty: none, or a refusal."""
    subject: str
    """The changed object besides the thread, such as a message. Empty: none, or a refusal."""
    items: int
    """The number of changed items, such as messages; for a refusal, of equal ones."""
    result: Literal["committed", "refused", "unknown"]
    """`unknown`: the call failed, and may have changed something."""
    created_at: datetime
    proto: v1.Transaction = field(repr=False, compare=False)
