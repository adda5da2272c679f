import pytest

from assay_devserver.dynoxide import Dynoxide, find_binary
from assay_devserver.moto_store import MotoStore
from tests.devserver.fake_engine import TABLE, table_at


@pytest.fixture(scope="session")
def binary():
    found = find_binary()
    if found is None:
        pytest.skip("no dynoxide binary: `make test` installs it where Node is present")
    return found


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.fixture
def dynoxide(binary, tmp_path):
    store = Dynoxide(binary, tmp_path / "assay.db")
    store.start()
    yield store
    store.stop()


@pytest.fixture
def service(dynoxide):
    return table_at(dynoxide.endpoint)


@pytest.fixture(params=["dynoxide", "moto"])
def any_service(request):
    """The same table on either store that `assay serve` may embed."""
    if request.param == "dynoxide":
        yield request.getfixturevalue("service")
        return
    store = MotoStore()
    store.start()
    service = table_at(store.endpoint)
    yield service
    # moto's tables belong to the process, not to the server.
    service.table("DeleteTable", {"TableName": TABLE})
    store.stop()


@pytest.fixture
def new_table():
    return table_at


@pytest.fixture
def put():
    def put_item(service, sk, **attributes):
        item = {"pk": {"S": "run"}, "sk": {"S": sk}, **attributes}
        service.table("PutItem", {"TableName": TABLE, "Item": item})

    return put_item
