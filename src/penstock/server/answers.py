"""Answers: what requests and replies hold, as the OpenAPI document tells it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Plain = str | int | float | bool | None
Name = Annotated[str, Field(min_length=1, max_length=200)]


class NewSubscription(BaseModel):
    """A query to register, or one for every row of its parameters."""

    model_config = ConfigDict(extra="forbid")

    sql: Annotated[str, Field(min_length=1, examples=["SELECT ts FROM trades WHERE price > :p"])]
    name: Name | None = None
    parameters: list[dict[str, Plain]] | None = None
    key: Name | None = None


class RefusedRow(BaseModel):
    """A row of parameters that was not registered: its place, counted from 0, and why."""

    row: int
    code: str
    reason: str


class Registered(BaseModel):
    """What became of a registration: how many queries stand, of how many that were given."""

    name: str
    version: int
    queries: int
    given: int
    refused: Annotated[int, Field(description="So many of the rows were refused.")] = 0
    refusals: Annotated[
        list[RefusedRow], Field(description="The first of them, with the reasons.")
    ] = []


class Dropped(BaseModel):
    """Since which version queries stand no more."""

    name: str
    version: int


class SubscriptionAnswer(BaseModel):
    """A subscription that stands."""

    name: str
    queries: int
    state: Annotated[str, Field(description="`stands` or `suspended`")]
    group: str
    sql: str


class SubscriptionList(BaseModel):
    """Subscriptions by name; `next` is the `after` of those that follow, if there are more."""

    subscriptions: list[SubscriptionAnswer]
    next: str | None = None


class ViewStaleness(BaseModel):
    """How far a view is behind: changes that wait, by table, and for how long the oldest has."""

    pending: dict[str, int]
    refresh_s: float
    age_s: float
    suspended: str | None = None
    rests: str | None = None


class ViewRows(BaseModel):
    """Rows of a view."""

    columns: list[str]
    rows: list[dict[str, Any]]
    notice: str | None = None
    staleness: ViewStaleness | None = None


class Health(BaseModel):
    """The server is there, and can follow its home."""

    status: str


class RefusalAnswer(BaseModel):
    """Why something was refused: a stable code, a fact and a remedy; of a text, the place."""

    code: str
    fact: str
    remedy: str
    place: dict[str, int] | None = None
