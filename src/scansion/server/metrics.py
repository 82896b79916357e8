"""Figures for Prometheus. Labels take few values: no model text, no client names."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """The figures of one server, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter("scansion_requests", "Requests answered.", ["path", "status"], registry=registry)
        self.seconds = Histogram(
            "scansion_request_seconds", "Time to the end of the answer.", ["path"], buckets=_SECONDS, registry=registry
        )
        self.first_seconds = Histogram(
            "scansion_first_piece_seconds", "Time to the first piece of text.", ["path"], buckets=_SECONDS, registry=registry
        )
        self.errors = Counter("scansion_errors", "Errors told to clients.", ["code"], registry=registry)
        self.tokens = Counter("scansion_tokens", "Tokens read and written.", ["kind"], registry=registry)
        self.answers = Counter(
            "scansion_answers",
            "Answers by constraint and enforcer.",
            ["constraint", "enforced_by", "complete"],
            registry=registry,
        )
        self.drafts = Counter("scansion_draft_tokens", "Draft tokens.", ["source", "fate"], registry=registry)
        self.retries = Counter("scansion_validation_retries", "Answers thrown away because they did not validate.", registry=registry)
        self.disconnects = Counter("scansion_disconnects", "Clients that went away before the end.", registry=registry)
        self.in_progress = Gauge("scansion_requests_in_progress", "Requests being answered.", registry=registry)

    def watch(self, name: str, about: str, value: Callable[[], float]) -> None:
        """A gauge that is read when somebody looks."""
        Gauge(name, about, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self._registry)
