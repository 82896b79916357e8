"""Schema documents: where a subschema is, what it is relative to, and what its references mean.

A ``Site`` is one subschema at one place: its JSON value, its pointer, the resource (``$id``) it belongs to and, only where
``$dynamicRef`` or ``$recursiveRef`` is in use, the resources passed through on the way (its dynamic scope: the same
subschema reached another way is another site). Sites are interned, so that a recursive schema has finitely many.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from scansion.errors import GrammarError, LimitError
from scansion.json_schema.json_values import kind_of
from scansion.json_schema.metaschemas import metaschema

__all__ = ["MAX_DEPTH", "Documents", "Resource", "ScopeNeeded", "Site", "UnresolvedError"]

MAX_DEPTH = 512  # nesting of subschemas inside one document
MAX_CONSTANTS = 10_000  # objects and arrays in enum and const; each is a schema of its own
MAX_SITES = 500_000  # distinct subschemas, counted with their dynamic scopes

_VALIDATION_VOCABULARY = (
    frozenset(("type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "pattern"))
    | frozenset(("maxLength", "minLength", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains"))
    | frozenset(("maxProperties", "minProperties", "required", "dependentRequired"))
)

_DRAFTS = {
    "json-schema.org/draft-03/schema": 4,
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
}

# Keywords each draft does not have yet: annotations there, as the specification says of unknown keywords.
_SINCE_2020 = frozenset(("prefixItems", "$dynamicRef", "$dynamicAnchor"))
_SINCE_2019 = (
    _SINCE_2020
    | frozenset(("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains"))
    | frozenset(("$anchor", "$recursiveRef", "$recursiveAnchor"))
)
_SINCE_7 = _SINCE_2019 | frozenset(("if", "then", "else"))
_SINCE_6 = _SINCE_7 | frozenset(("const", "contains", "propertyNames"))
_NEWER_KEYWORDS = {4: _SINCE_6, 6: _SINCE_7, 7: _SINCE_2019, 2019: _SINCE_2020, 2020: frozenset(("$recursiveRef",))}

_ONE_SCHEMA = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_SCHEMA_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMA_MAP = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")


class ScopeNeeded(Exception):
    """A ``$dynamicRef`` or ``$recursiveRef`` was met while dynamic scopes were not being kept. Internal: start again."""


class UnresolvedError(GrammarError):
    """A reference leads to a document that is not there.

    Attributes:
        url: what would have to be given among the resources, ``""`` where no document could help.
    """

    def __init__(self, message: str, *, pointer: str, construct: str, hint: str, url: str) -> None:
        super().__init__(message, pointer=pointer, construct=construct, hint=hint)
        self.url = url


class Resource:
    """One schema resource: a document, or the part of one under its own ``$id``.

    Attributes:
        url: absolute or relative base URL, ``""`` for an anonymous document.
        root: the JSON value at its root; ``pointer`` is where that is in the outermost document.
        draft: 4, 6, 7, 2019 or 2020; ``ref_alone``: keywords beside ``$ref`` are ignored (drafts 4 to 7).
        ignored: keywords that mean nothing here: those of later drafts than the one ``$schema`` names, and lenient ones.
        anchors, dynamic_anchors: name to (JSON value, pointer), filled by the index.
    """

    __slots__ = ("anchors", "draft", "dynamic_anchors", "explicit", "ignored", "pointer", "ref_alone", "refs", "root", "url")

    def __init__(self, url: str, root: Any, pointer: str, draft: int, explicit: bool, lenient: frozenset[str]) -> None:
        self.url = url
        self.root = root
        self.pointer = pointer
        self.draft = draft
        self.explicit = explicit
        self.ref_alone = draft <= 7
        self.ignored = lenient | _NEWER_KEYWORDS[draft] if explicit else lenient
        self.anchors: dict[str, tuple[Any, str]] = {}
        self.dynamic_anchors: dict[str, tuple[Any, str]] = {}
        self.refs: dict[str, Site] = {}


class Site:
    """One subschema at one place. ``index`` numbers the sites of a compilation, ``expr`` is the expression (``shapes``) that is this one.

    The attributes with a value here are memos of the later stages: the kinds of keyword, the normal forms, the declared keys.
    """

    bits: int = -1
    positive: Any = None
    negative: Any = None
    tracked: Any = None
    order: Any = None

    def __init__(self, schema: Any, pointer: str, resource: Resource, scope: tuple[Resource, ...] | None, index: int, depth: int) -> None:
        self.schema = schema
        self.pointer = pointer
        self.resource = resource
        self.scope = scope
        self.index = index
        self.expr = (2 * index,)
        self.depth = depth

    def wrong(self, message: str, construct: str | None = None, hint: str | None = None) -> GrammarError:
        """An error at this subschema."""
        pointer = self.pointer if construct is None else f"{self.pointer}/{construct}"
        return GrammarError(message, pointer=pointer, construct=construct, hint=hint)


class Documents:
    """The root schema, the documents given with it, and the sites met so far.

    Args:
        root: the schema as parsed JSON.
        resources: URL to document.
        scoped: keep dynamic scopes.
        lenient: keywords to leave out of every subschema; what was left out is in ``dropped`` (keyword, pointer).
    """

    def __init__(self, root: Any, resources: Any, scoped: bool, lenient: frozenset[str]) -> None:
        self.sites: list[Site] = []
        self.dropped: list[tuple[str, str]] = []
        self._given = resources or {}
        self._scoped = scoped
        self._lenient = lenient
        self._by_id: dict[Any, Site] = {}
        self._kept: list[Any] = []  # synthetic schemas, so that id() stays unique
        self._constants: dict[int, Site] = {}
        self._values: Resource | None = None  # of constants
        self._resources: dict[str, Resource] | None = None
        self._embedded: dict[int, Resource] = {}
        draft, explicit = _draft_of(root, 2020, None)
        self.main = Resource(_own_url(root, draft) or "", root, "", draft, explicit, lenient)
        if self._given:
            self.main.ignored |= self._without_validation(root)
        self._embedded[id(root)] = self.main
        self.root = self.site(root, "", self.main, (self.main,) if scoped else None, 0)

    def site(self, schema: Any, pointer: str, resource: Resource, scope: tuple[Resource, ...] | None, depth: int) -> Site:
        """The site of a subschema (an object or a boolean) at a pointer. Interned by identity of the JSON value."""
        key: Any = id(schema)
        if scope is None:
            site = self._by_id.get(key)
            if site is not None and site.resource is resource and site.schema is not True and site.schema is not False:
                return site
        if isinstance(schema, dict) and ("$id" in schema or "id" in schema):
            resource = self._enter(schema, pointer, resource)
            if scope is None:
                site = self._by_id.get(key)
                if site is not None and site.resource is resource:
                    return site
        if scope is not None:
            if resource not in scope and self._matters(resource, scope):
                scope = (*scope, resource)
            key = (key, scope, pointer if schema is True or schema is False else None)
            site = self._by_id.get(key)
            if site is not None:
                return site
        if depth > MAX_DEPTH:
            raise LimitError(
                f"#{pointer[:80]}...: subschemas are nested more than {MAX_DEPTH} deep", limit="schema_depth", allowed=MAX_DEPTH
            )
        if len(self.sites) >= MAX_SITES:
            raise LimitError(f"the schema has more than {MAX_SITES:,} subschemas", limit="subschemas", allowed=MAX_SITES)
        ignored = resource.ignored
        if ignored and isinstance(schema, dict) and not ignored.isdisjoint(schema):
            self.dropped += [(name, f"{pointer}/{name}") for name in schema if name in self._lenient]
            # The original object stays alive in the document, so its id stays a valid key.
            schema = {name: value for name, value in schema.items() if name not in ignored}
        site = self._by_id[key] = Site(schema, pointer, resource, scope, len(self.sites), depth)
        self.sites.append(site)
        return site

    def _matters(self, resource: Resource, scope: tuple[Resource, ...]) -> bool:
        """Whether a resource can be what a dynamic reference means: only if none outside has the same anchor.

        Left out otherwise, or every order in which resources refer to each other would be a scope of its own.
        """
        self._index()
        if _recurses(resource) and not any(map(_recurses, scope)):
            return True
        return any(all(name not in outer.dynamic_anchors for outer in scope) for name in resource.dynamic_anchors)

    def below(self, parent: Site, schema: dict[str, Any], suffix: str) -> Site:
        """The site of a subschema (an object) of a site; ``suffix`` is its pointer from there, with the leading slash.

        What ``site`` gives; the frequent case without dynamic scopes, own ``$id`` and ignored keywords is decided here.
        """
        resource = parent.resource
        if parent.scope is None:
            key = id(schema)
            known = self._by_id.get(key)
            if known is not None and known.resource is resource:
                return known
            number = len(self.sites)
            if (
                "$id" not in schema
                and "id" not in schema
                and parent.depth < MAX_DEPTH
                and number < MAX_SITES
                and (not resource.ignored or resource.ignored.isdisjoint(schema))
            ):
                site = self._by_id[key] = Site(schema, parent.pointer + suffix, resource, None, number, parent.depth + 1)
                self.sites.append(site)
                return site
        return self.site(schema, parent.pointer + suffix, resource, parent.scope, parent.depth + 1)

    def synthetic(self, schema: Any, like: Site, pointer: str) -> Site:
        """A site for a schema that is in no document (the meaning of a ``const`` object, say)."""
        self._kept.append(schema)
        return self.site(schema, pointer, like.resource, like.scope, like.depth + 1)

    def placeless(self, schema: dict[str, Any]) -> Site:
        """A new site for a schema that is in no document and has no place of its own."""
        like = self.root
        site = Site(schema, "", like.resource, like.scope, len(self.sites), 1)
        self.sites.append(site)
        return site

    def constant(self, value: Any, schema: dict[str, Any], like: Site, pointer: str) -> Site:
        """The site of the schema that an object or array constant means; one for each constant."""
        known = self._constants.get(id(value))
        if known is None:
            if len(self._constants) >= MAX_CONSTANTS:
                raise LimitError(
                    f"#{pointer}: enum and const list more than {MAX_CONSTANTS:,} objects and arrays (describe what they have in common)",
                    limit="constants",
                    allowed=MAX_CONSTANTS,
                )
            # Read as the newest draft, which has every keyword used (a constant inside a draft 4 schema is one all the same).
            own = self._values
            if own is None:
                own = self._values = Resource("", True, "", 2020, False, frozenset())
            self._kept.append(schema)
            known = self.site(schema, pointer, own, (own,) if self._scoped else None, like.depth + 1)
            self._constants[id(value)] = known
        return known

    def close(self) -> None:
        """Forget what references meant. Sites know their resources, and these the sites: a cycle that only the collector would free."""
        for resource in self._embedded.values():  # ``main`` is one of them
            resource.refs.clear()

    # References

    def target(self, site: Site, keyword: str) -> Site:
        """The site that a reference keyword of ``site`` points at.

        Raises:
            GrammarError: as ``resolve``.
        """
        reference = site.schema[keyword]
        if keyword == "$ref":
            return self.resolve(site, reference)
        if keyword == "$dynamicRef":
            return self.resolve_dynamic(site, reference)
        return self.resolve_recursive(site, reference)

    def resolve(self, site: Site, reference: Any, keyword: str = "$ref") -> Site:
        """The site a ``$ref`` in ``site`` points at.

        Raises:
            GrammarError: not a string, or nothing there; names the reference and the place.
        """
        resource = site.resource
        if site.scope is None:
            memo = resource.refs.get(reference) if isinstance(reference, str) else None
            if memo is not None:
                return memo
        if not isinstance(reference, str):
            raise site.wrong(f"{keyword} must be a string, not {kind_of(reference)}", keyword)
        schema, pointer, target = self._locate(site, reference, keyword)
        if not isinstance(schema, (dict, bool)):
            raise site.wrong(f"{keyword} {reference!r} points at {kind_of(schema)}, which is not a schema", keyword)
        found = self.site(schema, pointer, target, site.scope, 0)
        if site.scope is None:
            resource.refs[reference] = found
        return found

    def resolve_dynamic(self, site: Site, reference: Any) -> Site:
        """The site a ``$dynamicRef`` means in the dynamic scope of ``site``."""
        if site.scope is None:
            raise ScopeNeeded
        initial = self.resolve(site, reference, "$dynamicRef")
        name = urldefrag(reference)[1]
        self._index()
        if name.startswith("/") or name not in initial.resource.dynamic_anchors:
            return initial
        if initial.resource.dynamic_anchors[name][0] is not initial.schema:
            return initial
        for resource in site.scope:
            found = resource.dynamic_anchors.get(name)
            if found is not None:
                return self.site(found[0], found[1], resource, site.scope, 0)
        return initial

    def resolve_recursive(self, site: Site, reference: Any) -> Site:
        """The site a ``$recursiveRef`` (2019-09) means."""
        if site.scope is None:
            raise ScopeNeeded
        target = self.resolve(site, reference, "$recursiveRef")
        resource = target.resource
        if _recurses(resource):
            resource = next(filter(_recurses, site.scope), resource)
            return self.site(resource.root, resource.pointer, resource, site.scope, 0)
        return target

    def _locate(self, site: Site, reference: str, keyword: str) -> tuple[Any, str, Resource]:
        resource = site.resource
        if reference == "#":
            return resource.root, resource.pointer, resource
        if reference.startswith("#/"):
            return self._walk(site, resource, reference[1:], reference, keyword)
        self._index()
        known = self._resources or {}
        url, fragment = urldefrag(urljoin(resource.url, reference))
        target: Resource | None = resource if url == urldefrag(resource.url)[0] else known.get(url)
        if target is None:
            target = known.get(url + "#")
        if target is None:
            target = self._metaschema(url)
        if target is None:
            raise UnresolvedError(
                f"{keyword} {reference!r} cannot be resolved",
                pointer=f"{site.pointer}/{keyword}",
                construct=keyword,
                hint=f"pass the document as resources={{{url!r}: ...}}" if url else "define it in the schema",
                url=url,
            )
        if not fragment:
            return target.root, target.pointer, target
        if fragment.startswith("/"):
            return self._walk(site, target, fragment, reference, keyword)
        found = target.anchors.get(unquote(fragment))
        if found is None:
            raise site.wrong(f"{keyword} {reference!r}: there is no anchor {fragment!r}", keyword, "check the name")
        return found[0], found[1], target

    def _walk(self, site: Site, resource: Resource, fragment: str, reference: str, keyword: str) -> tuple[Any, str, Resource]:
        value, pointer = resource.root, resource.pointer
        for part in (unquote(fragment) if "%" in fragment else fragment)[1:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~") if "~" in part else part
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
                value = value[int(name)]
            else:
                raise site.wrong(f"{keyword} {reference!r} points at nothing", keyword, f"{name!r} is not there")
            pointer = f"{pointer}/{part}"
            if isinstance(value, dict) and ("$id" in value or "id" in value):
                resource = self._enter(value, pointer, resource)
        return value, pointer, resource

    # Resources

    def _enter(self, schema: dict[str, Any], pointer: str, resource: Resource) -> Resource:
        """The resource a subschema belongs to: its own where it has an ``$id`` that is not just an anchor."""
        own = self._embedded.get(id(schema))
        if own is not None:
            return own
        # The draft outside says which keyword names a resource; only a resource may then state a draft of its own.
        url = _own_url(schema, resource.draft)
        if url is None or url.startswith("#") or (resource.draft <= 7 and "$ref" in schema):
            return resource
        draft, explicit = _draft_of(schema, resource.draft, resource)
        own = Resource(urljoin(resource.url, url), schema, pointer, draft, explicit, self._lenient)
        self._embedded[id(schema)] = own
        if self._resources is not None:
            self._resources.setdefault(own.url.rstrip("#"), own)
            self._scan(schema, pointer, own)
        return own

    def _index(self) -> None:
        """Find every ``$id`` and anchor in the schema and the documents given; done at the first reference that needs it."""
        if self._resources is not None:
            return
        self._resources = {self.main.url.rstrip("#"): self.main}
        self._scan(self.main.root, "", self.main)
        for url, document in self._given.items():
            if not isinstance(document, (dict, bool)):
                raise GrammarError(f"the resource {url!r} is {kind_of(document)}, not a schema", construct="resources")
            draft, explicit = _draft_of(document, self.main.draft, self.main)
            where = url if "#" in url else f"{url}#"
            own = Resource(url.rstrip("#"), document, where, draft, explicit, self._lenient)
            self._embedded[id(document)] = own
            self._resources[own.url] = own
            stated = _own_url(document, draft)
            if stated:
                own.url = urljoin(own.url, stated).rstrip("#")
                self._resources[own.url] = own
            self._scan(document, own.pointer, own)

    def _metaschema(self, url: str) -> Resource | None:
        """The published schema of a draft, as a resource."""
        document = metaschema(url)
        if document is None or self._resources is None:
            return None
        draft, explicit = _draft_of(document, 2020, None)
        found = Resource(url, document, f"{url}#", draft, explicit, frozenset())
        self._embedded[id(document)] = found
        self._resources[url] = found
        self._scan(document, found.pointer, found)
        return found

    def _without_validation(self, schema: Any) -> frozenset[str]:
        """The keywords to ignore because the metaschema that ``$schema`` names, given among the resources, does not use them."""
        stated = schema.get("$schema") if isinstance(schema, dict) else None
        given = self._given.get(stated) if isinstance(stated, str) else None
        vocabulary = given.get("$vocabulary") if isinstance(given, dict) else None
        if not isinstance(vocabulary, dict) or any(name.endswith("/vocab/validation") for name in vocabulary):
            return frozenset()
        return _VALIDATION_VOCABULARY

    def _scan(self, schema: Any, pointer: str, resource: Resource) -> None:
        """Record the anchors and embedded resources below a schema; only places that hold schemas are looked at."""
        stack: list[tuple[Any, str, Resource]] = [(schema, pointer, resource)]
        resources = self._resources
        while stack:
            schema, pointer, resource = stack.pop()
            if not isinstance(schema, dict):
                continue
            if schema is not resource.root and ("$id" in schema or "id" in schema):
                known = id(schema) in self._embedded
                entered = self._embedded[id(schema)] if known else self._enter_quietly(schema, pointer, resource)
                if entered is not resource:
                    resource = entered
                    if resources is not None:
                        resources.setdefault(resource.url.rstrip("#"), resource)
            anchor = schema.get("$anchor")
            if isinstance(anchor, str):
                resource.anchors.setdefault(anchor, (schema, pointer))
            anchor = schema.get("$dynamicAnchor")
            if isinstance(anchor, str):
                resource.anchors.setdefault(anchor, (schema, pointer))
                resource.dynamic_anchors.setdefault(anchor, (schema, pointer))
            legacy = schema.get("id" if resource.draft == 4 else "$id")
            if isinstance(legacy, str) and "#" in legacy[:-1] and resource.draft <= 7:
                resource.anchors.setdefault(legacy.split("#", 1)[1], (schema, pointer))
            stack += [(schema[name], f"{pointer}/{name}", resource) for name in _ONE_SCHEMA if name in schema]
            for name in _SCHEMA_LIST:
                if isinstance(schema.get(name), list):
                    stack += [(item, f"{pointer}/{name}/{i}", resource) for i, item in enumerate(schema[name])]
            items = schema.get("items")
            if isinstance(items, list):
                stack += [(item, f"{pointer}/items/{i}", resource) for i, item in enumerate(items)]
            elif items is not None:
                stack.append((items, f"{pointer}/items", resource))
            for name in _SCHEMA_MAP:
                if isinstance(schema.get(name), dict):
                    stack += [(item, f"{pointer}/{name}/{escape(key)}", resource) for key, item in schema[name].items()]

    def _enter_quietly(self, schema: dict[str, Any], pointer: str, resource: Resource) -> Resource:
        """``_enter`` without the nested scan (the caller is scanning already)."""
        kept, self._resources = self._resources, None
        try:
            return self._enter(schema, pointer, resource)
        finally:
            self._resources = kept


def _recurses(resource: Resource) -> bool:
    return isinstance(resource.root, dict) and resource.root.get("$recursiveAnchor") is True


def escape(name: str) -> str:
    """A name as a JSON pointer segment (RFC 6901)."""
    if "~" in name or "/" in name:
        return name.replace("~", "~0").replace("/", "~1")
    return name


def _draft_of(schema: Any, default: int, parent: Resource | None) -> tuple[int, bool]:
    """The draft that ``$schema`` names, and whether one was named here or outside."""
    if not isinstance(schema, dict) or "$schema" not in schema:
        return default, parent.explicit if parent is not None else False
    stated = schema["$schema"]
    if isinstance(stated, str):
        draft = _DRAFTS.get(stated.split("://", 1)[-1].rstrip("#"))
        if draft is not None:
            return draft, True
    # A metaschema of someone's own: read as the newest draft, the older spellings understood.
    return default, parent.explicit if parent is not None else False


def _own_url(schema: Any, draft: int) -> str | None:
    if not isinstance(schema, dict):
        return None
    url = schema.get("id" if draft == 4 else "$id")
    return url if isinstance(url, str) else None
