"""Keys: each for one provider at one host, in the keyring, else the environment, else memory."""

from __future__ import annotations

from collections.abc import Iterator

import keyring
import keyring.errors
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring

from app.secrets import Secrets, key_name

HERE = key_name("openai", "http://127.0.0.1:11434/v1")
OPENAI = key_name("openai", "https://api.openai.com/v1")
VARIABLES = (
    *(f"SIGHTLINE_{kind}_KEY" for kind in ("OPENAI", "AZURE", "ANTHROPIC")),
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_ENDPOINT",
)


class Ring(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment] - the base class computes it

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise keyring.errors.PasswordSetError("locked")
        self.kept[username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.locked:
            raise keyring.errors.PasswordDeleteError("locked")
        del self.kept[username]


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def ring() -> Ring:
    made = Ring()
    keyring.set_keyring(made)
    return made


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/v1", "https://b.example/v1"),
        ("https://a.example/v1", "http://a.example/v1"),
        ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"),
        ("https://a.example", "https://a.example.evil.example"),
        ("https://a.example", "https://a.example@evil.example"),
    ],
)
def test_another_host_scheme_or_port_has_another_key(one: str, other: str):
    store = Secrets()
    store.set(key_name("openai", one), "sk-1")
    assert store.get(key_name("openai", other)) == ""
    assert store.get(key_name("openai", one)) == "sk-1"
    assert store.get(key_name("azure", one)) == "", "nor does another provider get it"


def test_the_same_host_has_the_same_key_however_it_is_written():
    names = {
        key_name("openai", url)
        for url in ("https://A.example/v1", "https://a.example:443/", " https://a.example./v2 ")
    }
    assert names == {"openai@a.example"}


@pytest.mark.parametrize("url", ["", "a.example", "ftp://a.example", "https://", "http://[", "x:y"])
def test_without_a_host_there_is_no_key(url: str):
    assert key_name("openai", url) == ""
    assert Secrets().get("") == ""
    with pytest.raises(ValueError, match="host"):
        Secrets().set("", "sk-1")


def test_without_a_keyring_a_key_is_kept_in_memory_and_says_so():
    store = Secrets()
    assert store.get(OPENAI) == ""
    assert store.would_keep_in().startswith("memory")
    store.set(OPENAI, "sk-1")
    assert store.get(OPENAI) == "sk-1"
    assert store.where(OPENAI).startswith("memory")
    assert Secrets().get(OPENAI) == ""
    assert store.forget(OPENAI)
    assert store.get(OPENAI) == ""


def test_with_a_keyring_it_lies_there_and_is_forgotten_there(ring: Ring):
    store = Secrets()
    store.set(OPENAI, "sk-1")
    assert ring.kept == {"openai@api.openai.com": "sk-1"}
    assert Secrets().get(OPENAI) == "sk-1"
    assert "keyring" in store.where(OPENAI)
    assert store.forget(OPENAI)
    assert ring.kept == {}


def test_a_locked_keyring_keeps_the_key_for_this_session_and_says_that_it_did_not_forget(
    ring: Ring,
):
    ring.kept[OPENAI] = "sk-old"
    ring.locked = True
    store = Secrets()
    store.set(OPENAI, "sk-1")
    assert store.get(OPENAI) == "sk-1"
    assert "memory" in store.where(OPENAI)
    assert not store.forget(OPENAI)


def test_our_variable_is_for_the_endpoint_of_the_settings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SIGHTLINE_OPENAI_KEY", "sk-env")
    store = Secrets()
    assert store.get(HERE) == ""
    assert "SIGHTLINE_OPENAI_KEY" in store.variable_of(HERE), "it would be, once chosen"
    store.configure([HERE])
    assert store.get(HERE) == "sk-env"
    assert "SIGHTLINE_OPENAI_KEY" in store.where(HERE)
    assert store.get(OPENAI) == ""


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("OPENAI_API_KEY", OPENAI),
        ("ANTHROPIC_API_KEY", key_name("anthropic", "https://api.anthropic.com")),
        ("AZURE_OPENAI_API_KEY", key_name("azure", "https://ward.openai.azure.com")),
    ],
)
def test_a_shared_variable_is_for_the_providers_own_host_only(
    monkeypatch: pytest.MonkeyPatch, variable: str, name: str
):
    monkeypatch.setenv(variable, "sk-env")
    kind = name.partition("@")[0]
    elsewhere = [
        key_name(kind, "http://127.0.0.1:11434/v1"),
        key_name(kind, "https://proxy.example/v1"),
        key_name(kind, f"https://{name.partition('@')[2]}.evil.example"),
        key_name(kind, f"http://{name.partition('@')[2]}"),
    ]
    store = Secrets()
    store.configure(elsewhere)
    assert store.get(name) == "sk-env"
    assert variable in store.where(name)
    assert [store.get(each) for each in elsewhere] == [""] * 4


def test_azures_variable_is_for_the_resource_that_azures_other_variable_names(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://ward.openai.azure.com/")
    assert Secrets().get(key_name("azure", "https://ward.openai.azure.com")) == "sk-env"
    assert Secrets().get(key_name("azure", "https://other.openai.azure.com")) == ""
