"""Requests made by machine from the server's own description: never a 5xx, never a status it does not document."""

from __future__ import annotations

import pytest

schemathesis = pytest.importorskip("schemathesis")
hypothesis = pytest.importorskip("hypothesis")

from scansion.server.openapi import openapi_description  # noqa: E402

schema = schemathesis.openapi.from_dict(openapi_description())


@schema.parametrize()
@hypothesis.settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck), database=None)
def test_the_description_holds(case, stand_in):
    answer = case.call(base_url=stand_in.url, timeout=30)
    assert answer.status_code < 500
    case.validate_response(
        answer,
        checks=[
            schemathesis.checks.not_a_server_error,
            schemathesis.specs.openapi.checks.status_code_conformance,
            schemathesis.specs.openapi.checks.content_type_conformance,
            schemathesis.specs.openapi.checks.response_schema_conformance,
        ],
    )
