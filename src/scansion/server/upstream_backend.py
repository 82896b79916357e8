"""The gateway in front of other servers: which one, what it is told, and whether what comes back keeps to the constraint."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from scansion.errors import GrammarError, LimitError, UnsupportedError
from scansion.models.upstream import UpstreamError, UpstreamServer
from scansion.server.backend import Constrained, Job, ModelCard, Outcome, Piece, Sent
from scansion.server.errors import ApiError, from_error, keyword_of
from scansion.server.json_mode import ANY_OBJECT_GBNF
from scansion.server.model_names import ModelNames
from scansion.server.reasoning import ReasoningSplit
from scansion.server.recipes import TOOL_OPEN, Recipe
from scansion.server.repeated_members import RepeatedMembers
from scansion.server.text_check import TextCheck
from scansion.server.upstream_dialects import Chunk, check_sampling, read_line, request_for

if TYPE_CHECKING:
    from scansion.server.compile_pool import CompilePool
    from scansion.server.worker_pool import Allowance

__all__ = ["UpstreamBackend"]

_log = logging.getLogger("scansion.server")
_HEALTH_SECONDS = 5.0
_ATTEMPTS = 3
_PAUSE_SECONDS = 0.2
_MOST_LENIENT = 4
_ANY_SPELLING = (("integers", "any"), ("property_order", "any"), ("spelling", "any"), ("whitespace", "flexible"))


class UpstreamBackend:
    """One or more upstreams. Implements ``Backend``."""

    kind = "upstream"

    def __init__(
        self,
        urls: Sequence[str],
        *,
        kind: str = "auto",
        key: str | None = None,
        concurrency: int = 1024,
        silence: float = 300.0,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        """
        Args:
            urls: roots of the upstreams.
            kind: what they are, or ``auto`` to ask each.
            key: sent to each as a bearer token.
            concurrency: requests sent at once, over all.
            silence: seconds without a byte after which an answer is given up.
            aliases: further names of models: alias to model, "" for the first one.
        """
        self.slots = concurrency
        self._servers = [UpstreamServer(url, kind=kind, key=key, silence=silence) for url in urls]
        self._up: set[UpstreamServer] = set()
        self._troubles: dict[UpstreamServer, str] = {}
        self._aliases = dict(aliases or {})
        self._names = ModelNames({})
        self._created = int(time.time())
        self._watch: asyncio.Task[None] | None = None

    # -- which upstream ----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Ask every upstream what it is; those that do not answer are asked again later."""
        await self._look()
        self._watch = asyncio.create_task(self._keep_looking())

    async def close(self) -> None:
        """End all connections."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        await asyncio.gather(*(server.close() for server in self._servers))

    async def ready(self) -> str | None:
        """Ready while any upstream is well."""
        return None if self._up else f"no upstream answers: {self._trouble()}"

    def _trouble(self) -> str:
        return "; ".join(self._troubles.values()) or "none has been asked yet"

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(_HEALTH_SECONDS)
            try:
                await self._look()
            except Exception as error:
                _log.error("health check failed", exc_info=error)

    async def _look(self) -> None:
        await asyncio.gather(*map(self._examine, self._servers))
        names: dict[str, str] = {}
        for server in self._servers:
            for name in server.facts.models if server.facts is not None else ():
                names.setdefault(name, name)
        for alias, name in self._aliases.items():
            target = name or next(iter(names.values()), "")
            if target:
                names[alias] = target
        self._names = ModelNames(names)

    async def _examine(self, server: UpstreamServer) -> None:
        was_up = server in self._up
        trouble = f"{server.url} does not answer, or is still loading"
        try:
            well = await server.healthy()
            if well and (server.facts is None or not was_up):
                await server.probe()
        except UpstreamError as error:
            well = False
            trouble = f"{server.url}: {error}"
            if error.status in (401, 403):
                trouble += " (give its key with --upstream-key-file)"
        if well:
            self._up.add(server)
            self._troubles.pop(server, None)
            if not was_up:
                fields = {"message": "upstream is up", "upstream": server.url}
                _log.info(fields["message"], extra={"fields": fields})
            return
        self._up.discard(server)
        if self._troubles.get(server) != trouble:
            self._troubles[server] = trouble
            fields = {"message": "upstream is down", "upstream": server.url, "reason": trouble}
            _log.warning(fields["message"], extra={"fields": fields})

    def _candidates(self, model: str) -> list[UpstreamServer]:
        """Upstreams that are well and have the model, least loaded first; all of the kind of the first."""
        able = [server for server in self._servers if server in self._up and server.facts is not None and model in server.facts.models]
        if not able:
            able = [server for server in self._servers if server.facts is not None and model in server.facts.models]
        kinds = [server.facts.kind for server in able if server.facts is not None]
        able = [server for server in able if server.facts is not None and server.facts.kind == kinds[0]]
        return sorted(able, key=lambda server: server.in_flight)

    async def models(self) -> Sequence[ModelCard]:
        """All models of all upstreams, and their aliases."""
        cards = []
        for name in self._names.listed:
            model = self._names.resolve(name)
            server = next((server for server in self._servers if server.facts is not None and model in server.facts.models), None)
            facts = server.facts if server is not None else None
            context = facts.context if facts is not None else 0
            cards.append(ModelCard(name, facts.kind if facts is not None else "upstream", context=context, created=self._created))
        return cards

    def resolve_model(self, name: str | None) -> str:
        """See ``ModelNames``.

        Raises:
            ApiError: 503 where no upstream has told its models yet; 404.
        """
        if not self._names.listed:
            if self._up:
                raise ApiError(503, "the upstreams have no models: load or pull one there", code="model_unknown", retry_after=5)
            raise ApiError(503, f"no upstream answers: {self._trouble()}", code="upstream_unreachable", retry_after=5)
        return self._names.resolve(name)

    # -- what it is told ---------------------------------------------------------------------------------------------

    async def prepare(self, job: Job, allowance: Allowance, pool: CompilePool) -> Job:
        """See ``Backend.prepare``: the constraint in words the upstream takes, and what the answer is checked against."""
        candidates = self._candidates(job.model)
        if not candidates or candidates[0].facts is None:
            raise ApiError(503, f"no upstream has the model {job.model!r} now", code="upstream_unreachable", retry_after=5)
        facts = candidates[0].facts
        check_sampling(facts.kind, job)
        constraint = job.constraint
        if constraint is None or constraint.relaxed:
            # What was relaxed is decided by validation; the upstream writes freely.
            return job
        try:
            sent = await self._sent(facts.kind, facts.takes_lark, constraint, allowance, pool)
        except (GrammarError, LimitError) as error:
            if not job.extension.validate:
                raise _cannot_say(facts.kind, error, constraint) from None
            sent = await self._nearest(facts.kind, error, constraint, allowance, pool)
            return replace(job, constraint=replace(constraint, sent=sent), validated=True)
        return replace(job, constraint=replace(constraint, sent=sent))

    async def _nearest(self, kind: str, error: Exception, constraint: Constrained, allowance: Allowance, pool: CompilePool) -> Sent:
        """For an answer that is validated as a whole: the constraint without the keywords the upstream cannot be told, or nothing."""
        recipe = constraint.recipe
        options = tuple(pair for pair in recipe.options if pair[0] != "lenient")
        lenient: list[str] = []
        while kind in ("llama-server", "vllm") and recipe.kind == "json_schema" and isinstance(error, UnsupportedError):
            keyword = keyword_of(error)
            if keyword is None or keyword in lenient or len(lenient) == _MOST_LENIENT:
                break
            lenient.append(keyword)
            try:
                looser = await pool.compile(Recipe(recipe.kind, recipe.text, (*options, ("lenient", ",".join(lenient)))), allowance)
                text, _ = await pool.written(looser, "gbnf", allowance)
            except (GrammarError, LimitError) as again:
                error = again
            else:
                return Sent("gbnf", text, constraint.compiled, note=f"{', '.join(lenient)}")
        return Sent("nothing", "", constraint.compiled)

    async def _sent(self, kind: str, takes_lark: bool, constraint: Constrained, allowance: Allowance, pool: CompilePool) -> Sent:
        recipe = constraint.recipe
        native = {"json_schema": "schema", "json_object": "json", "regex": "regex", "choices": "choice"}.get(recipe.kind)
        schema_only = kind in ("ollama", "openai")
        if kind == "scansion" and native == "schema" and recipe.options:
            # It keeps to the same options, so to the same texts.
            return Sent(native, recipe.text, constraint.compiled, options=recipe.options)
        if native is not None and kind != "llama-server" and not recipe.options and not (schema_only and native in ("regex", "choice")):
            # The upstream chooses spelling and white space, so the check takes any that mean an instance of the schema.
            checker = constraint.compiled
            if native == "json":
                checker = await pool.compile(Recipe("gbnf", ANY_OBJECT_GBNF), allowance)
            elif native == "schema":
                checker = await pool.compile(Recipe("json_schema", recipe.text, _ANY_SPELLING), allowance)
            return Sent(native, recipe.text, checker)
        if schema_only:
            raise UnsupportedError(
                f"an upstream of kind {kind} takes JSON Schemas only, with no options", construct=recipe.kind,
                hint='use an upstream that takes grammars, or "scansion": {"on_unsupported": "validate"}',
            )  # fmt: skip
        compiled = await pool.compile(recipe, allowance)
        language = "gbnf"
        try:
            text, repeats = await pool.written(compiled, "gbnf", allowance)
        except UnsupportedError:
            if not takes_lark:
                raise
            text, repeats = await pool.written(compiled, "lark", allowance)
            language, text = "lark", f"%llguidance {{}}\n{text}"
        return Sent(language, text, constraint.compiled, note="keys that are not declared may repeat" if repeats else "")

    # -- what comes back ---------------------------------------------------------------------------------------------

    async def generate(self, job: Job, client: str, pool: CompilePool) -> AsyncGenerator[Piece | Outcome]:
        """See ``Backend.generate``. Sent again, elsewhere or after a pause, only while nothing of an answer has come."""
        for attempt in range(_ATTEMPTS):
            candidates = self._candidates(job.model)
            if not candidates:
                raise ApiError(503, f"no upstream has the model {job.model!r} now", code="upstream_unreachable", retry_after=5)
            server = candidates[attempt % len(candidates)] if attempt else candidates[0]
            try:
                async with contextlib.aclosing(self._stream(server, job, client, pool)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except UpstreamError as error:
                if error.code == "upstream_unreachable":
                    self._up.discard(server)
                again = error.before_answer and (error.status is None or error.status == 503)
                if not again or attempt + 1 == _ATTEMPTS:
                    raise _api_error(error) from None
            await asyncio.sleep(_PAUSE_SECONDS * (attempt + 1))

    async def _stream(self, server: UpstreamServer, job: Job, client: str, pool: CompilePool) -> AsyncGenerator[Piece | Outcome]:
        facts = server.facts
        if facts is None:
            raise UpstreamError(f"the upstream {server.url} has not answered yet", code="upstream_unreachable")
        wire = request_for(facts.kind, job)
        split = ReasoningSplit() if wire.splits_reasoning else None
        check = _Check(job, pool, client)
        once = _members_once(job)
        last = Chunk()
        ended = False
        started = time.monotonic()
        first_at = 0.0
        steps = 0
        async with server.stream(wire.path, wire.body) as lines:
            async for line in lines:
                chunk = read_line(facts.kind, line)
                if chunk is None:
                    continue
                content, reasoning = chunk.content, chunk.reasoning
                if split is not None:
                    more, content = split.feed(content)
                    reasoning += more
                if once is not None:
                    content = once.feed(content)
                if content or reasoning or chunk.logprobs:
                    first_at = first_at or time.monotonic()
                    await check.feed(content)
                    yield Piece(content, reasoning, chunk.logprobs)
                steps += bool(chunk.content)
                if once is not None and once.goes_in_circles and (rest := check.closers()):
                    # Here the answer can end as it is; later it would only be cut.
                    once.finish()
                    await check.feed(rest)
                    yield Piece(rest)
                    last = Chunk(finish_reason="stop", tokens=steps)
                    break
                last = _merged(last, chunk)
                if chunk.done:
                    ended = True
                    break
            if ended:
                # A connection read to its end serves the next request.
                with contextlib.suppress(TimeoutError, UpstreamError):
                    async with asyncio.timeout(_PAUSE_SECONDS):
                        async for _ in lines:
                            pass
        if not ended and last.finish_reason is None:
            raise UpstreamError(f"the upstream {server.url} ended its stream early", code="upstream_stream_broken", before_answer=False)
        if split is not None and (rest := split.finish()):
            yield Piece(reasoning=rest)
        if once is not None and (rest := once.finish()):
            await check.feed(rest)
            yield Piece(rest)
        reason = "length" if last.finish_reason == "length" else "stop"
        complete = check.complete if job.constraint is not None else reason == "stop"
        if reason == "stop" and not complete and not job.stop and not job.validated:
            raise ApiError(
                502, "the upstream ended the answer before it was whole: it does not keep to the constraint", code="upstream_left_grammar",
                details={"upstream": facts.kind},
            )  # fmt: skip
        now = time.monotonic()
        yield Outcome(
            reason,
            complete,
            prompt_tokens=last.prompt_tokens or 0,
            cached_tokens=last.cached_tokens or 0,
            tokens=last.tokens or 0,
            report=_report(facts.kind, facts.build, job)
            | ({"repeated_members_left_out": once.left_out} if once is not None and once.left_out else {}),
            seconds=((first_at or now) - started, now - (first_at or now)),
        )


class _Check:
    """Follows an answer with a matcher as it comes."""

    def __init__(self, job: Job, pool: CompilePool, client: str) -> None:
        constraint = job.constraint
        self._check: TextCheck | None = None
        if constraint is not None and not job.validated:
            compiled = constraint.sent.checker if constraint.sent is not None else constraint.compiled
            self._check = TextCheck(compiled, pool, client)
        self._param = constraint.param if constraint is not None else None
        self._validated = job.validated
        self._read = 0

    async def feed(self, text: str) -> None:
        if self._check is None or not text:
            return
        data = text.encode("utf-8", "surrogatepass")
        self._read += len(data)
        try:
            good, _ = await self._check.read(data)
        except LimitError as error:
            raise from_error(error, self._param) from None
        if good < self._read:
            raise ApiError(
                502, f"the upstream's answer left the constraint at byte {good}", code="upstream_left_grammar", details={"offset": good}
            )

    def closers(self) -> str:
        return self._check.closers() if self._check is not None else ""

    @property
    def complete(self) -> bool:
        return self._check.whole if self._check is not None else self._validated


def _members_once(job: Job) -> RepeatedMembers | None:
    """For answers in which the upstream may repeat a key that the constraint allows once."""
    constraint = job.constraint
    sent = constraint.sent if constraint is not None else None
    if constraint is None or sent is None or job.validated or job.logprobs is not None or not (sent.note or sent.form == "schema"):
        return None
    kind = constraint.recipe.kind
    if kind == "tools":
        return RepeatedMembers(mark=TOOL_OPEN, begins=json.loads(constraint.recipe.text)["answer"] is not None)
    return RepeatedMembers() if kind in ("json_schema", "json_object") else None


def _merged(last: Chunk, chunk: Chunk) -> Chunk:
    def newest(name: str) -> object:
        value = getattr(chunk, name)
        return getattr(last, name) if value is None else value

    names = ("finish_reason", "prompt_tokens", "cached_tokens", "tokens")
    return Chunk(**{name: newest(name) for name in names})  # type: ignore[arg-type]


def _report(kind: str, build: str, job: Job) -> dict[str, object]:
    sent = job.constraint.sent if job.constraint is not None else None
    report: dict[str, object] = {"enforced_by": "nothing", "upstream": {"kind": kind, "build": build}}
    if sent is not None and sent.form != "nothing":
        report["enforced_by"] = f"upstream {'grammar' if sent.form in ('gbnf', 'lark') else sent.form}"
        report["checked_by"] = "matcher"
        if sent.note:
            report["left_to_check"] = sent.note
    return report


def _cannot_say(kind: str, error: GrammarError | LimitError, constraint: Constrained) -> ApiError:
    told = from_error(error, constraint.param)
    told.status = 422
    told.type = "unprocessable_error"
    told.message = f"the upstream ({kind}) cannot be told this constraint: {told.message}"
    told.details.setdefault("hint", 'ask for "scansion": {"on_unsupported": "validate"}')
    return told


def _api_error(error: UpstreamError) -> ApiError:
    """What the client is told: the upstream's status and words where it answered, a code of our own where it did not."""
    status = error.status or {"upstream_timeout": 504}.get(error.code, 502)
    if not 400 <= status <= 599:
        status = 502
    details = {}
    if error.status is not None and isinstance(error.body, dict):
        details["upstream_error"] = error.body.get("error", error.body)
    return ApiError(status, str(error), code=error.code, details=details)
