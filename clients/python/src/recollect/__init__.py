"""The client of Recollect, the memory service for LLM agents and chat backends.

    from recollect import Recollect

    memory = Recollect().session(app="support", user="ada", session="42")
    context = memory.context("What is my dog called?")
    memory.append(user="What is my dog called?", assistant=answer(context.messages))

`Recollect` is for threads, `AsyncRecollect` for asyncio; both have the same methods.
"""

from importlib import metadata

from recollect._async.admin import AsyncAdmin
from recollect._async.app import AsyncApp
from recollect._async.client import AsyncRecollect
from recollect._async.files import AsyncFiles
from recollect._async.session import AsyncSession
from recollect._async.subscriptions import AsyncSubscriptions
from recollect._async.user import AsyncUser
from recollect._client_memory import ClientMemory
from recollect._render import render
from recollect._requests import event, message
from recollect._retry import Retry
from recollect._server import Server, server
from recollect._sync.admin import Admin
from recollect._sync.app import App
from recollect._sync.client import Recollect
from recollect._sync.files import Files
from recollect._sync.session import Session
from recollect._sync.subscriptions import Subscriptions
from recollect._sync.user import User
from recollect._webhooks import verify_webhook
from recollect._wrap import memory_of, wrap
from recollect.errors import RecollectError
from recollect.types import (
    NO_USER,
    UNCHANGED,
    Context,
    Filter,
    History,
    MemoryFilter,
    Policy,
    Profile,
    RecallResult,
    WorkingMemory,
)

__version__ = metadata.version("recollect-client")

__all__ = [
    "NO_USER",
    "UNCHANGED",
    "Admin",
    "App",
    "AsyncAdmin",
    "AsyncApp",
    "AsyncFiles",
    "AsyncRecollect",
    "AsyncSession",
    "AsyncSubscriptions",
    "AsyncUser",
    "ClientMemory",
    "Context",
    "Files",
    "Filter",
    "History",
    "MemoryFilter",
    "Policy",
    "Profile",
    "RecallResult",
    "Recollect",
    "RecollectError",
    "Retry",
    "Server",
    "Session",
    "Subscriptions",
    "User",
    "WorkingMemory",
    "event",
    "memory_of",
    "message",
    "render",
    "server",
    "verify_webhook",
    "wrap",
]
