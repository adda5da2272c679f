"""What the lean transport does by itself: signing, connections, credentials, endpoints."""

import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from assay_engine.core.run import Head
from assay_engine.store.dynamo import DynamoStore
from assay_engine.store.signature import Keys, Signer
from assay_engine.store.tables import TableConfig
from assay_engine.store.transport import LeanTransport
from tests.store.conftest import config
from tests.store.records import head
from tests.store.scripted import Reply, scripted

HOST = "dynamodb.eu-west-1.amazonaws.com"
FIRST = datetime(2024, 1, 1)  # noqa: DTZ001  # hypothesis wants it so; it is UTC
secrets = st.text("abcXYZ019/+=", min_size=1, max_size=40)


def _signed_by_botocore(target: str, body: bytes, keys: Keys, moment: str) -> str:
    signer = SigV4Auth(Credentials(*keys), "dynamodb", "eu-west-1")
    headers = {"X-Amz-Target": target, "X-Amz-Date": moment}
    if keys.token:
        headers["X-Amz-Security-Token"] = keys.token
    request: Any = AWSRequest("POST", f"https://{HOST}/", headers, body)
    request.context["timestamp"] = moment
    canonical = signer.canonical_request(request)
    text = signer.string_to_sign(request, canonical)
    return str(signer.signature(text, request))


@given(
    body=st.binary(max_size=200),
    keys=st.builds(Keys, secrets, secrets, st.none() | secrets),
    moment=st.datetimes(min_value=FIRST, max_value=FIRST + timedelta(days=9000)),
)
def test_the_signature_is_the_one_botocore_makes(body: bytes, keys: Keys, moment: datetime) -> None:
    signer = Signer("eu-west-1", HOST, clock=moment.timetuple)
    headers = signer.headers("DynamoDB_20120810.GetItem", body, keys)
    _, _, signature = headers["authorization"].rpartition("Signature=")
    stamp = time.strftime("%Y%m%dT%H%M%SZ", moment.timetuple())
    assert headers["x-amz-date"] == stamp
    expected = _signed_by_botocore("DynamoDB_20120810.GetItem", body, keys, stamp)
    assert signature == expected


def test_a_new_day_or_a_new_secret_makes_a_new_key() -> None:
    days = [time.struct_time((2026, 11, day, 1, 2, 3, 0, 0, 0)) for day in (18, 19, 19)]
    signer = Signer("eu-west-1", HOST, clock=iter(days).__next__)
    signatures = [
        signer.headers("DynamoDB_20120810.GetItem", b"{}", Keys("id", secret))["authorization"]
        for secret in ("one", "one", "two")
    ]
    assert len(set(signatures)) == 3


def test_a_connection_is_used_again_until_the_server_ends_it() -> None:
    with scripted(Reply()) as script:
        transport = LeanTransport(config(script.endpoint, lean=True))
        for _ in range(3):
            transport.call("GetItem", {"some": "thing"})
        assert script.connections == 1
        script.hang_up()
        transport.call("GetItem", {"some": "thing"})
        transport.close()
    assert script.connections == 2


@pytest.mark.parametrize(
    ("region", "endpoint"),
    [
        ("eu-west-1", "https://dynamodb.eu-west-1.amazonaws.com"),
        ("cn-north-1", "https://dynamodb.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_without_an_endpoint_it_is_that_of_the_region(region: str, endpoint: str) -> None:
    assert LeanTransport(TableConfig(name="any", region=region, lean=True)).endpoint == endpoint


def test_credentials_come_from_where_botocore_finds_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session")
    with scripted(Reply()) as script:
        store = DynamoStore(TableConfig(name="any", endpoint=script.endpoint, lean=True))
        assert store.get(Head, head().key) is None
        store.close()
    headers = script.headers[0]
    assert "Credential=of-the-environment/" in headers["authorization"]
    assert headers["x-amz-security-token"] == "session"
