"""Which storage account a location means, in the words that PyIceberg's ``adls.*`` properties have."""

from __future__ import annotations

from collections.abc import Mapping

from nessie_gc_core.errors import ConfigurationError

_NAME = "adls.account-name"
_KEY = "adls.account-key"
_HOST = "adls.account-host"
_SAS = "adls.sas-token"
_CONNECTION = "adls.connection-string"
_ANONYMOUS = "adls.anon"
_JAVA_NAMES = {"adls.auth.shared-key.account.name": _NAME, "adls.auth.shared-key.account.key": _KEY}


def account_properties(host: str, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties for the account of one host (empty where the location names none).

    Raises:
        ConfigurationError: the properties are for another account than the location's.
    """
    made = {name: value for name, value in properties.items() if not name.startswith((f"{_SAS}.", f"{_CONNECTION}."))}
    for java, name in _JAVA_NAMES.items():
        if java in properties:
            made.setdefault(name, properties[java])
    if made.get(_ANONYMOUS, "true").lower() == "false":
        del made[_ANONYMOUS]  # adlfs takes any text for yes
    if not host:
        return made
    account = host.split(".", maxsplit=1)[0]
    for name in (_SAS, _CONNECTION):
        for owner in (host, account):
            if f"{name}.{owner}" in properties:
                made[name] = properties[f"{name}.{owner}"]
    if _CONNECTION not in made:
        check_account(host, made.get(_NAME))
        made[_NAME] = account
        made.setdefault(_HOST, host.replace(".dfs.", ".blob.", 1))
    return made


def check_account(host: str, configured: str | None) -> None:
    """Refuses to reach into one account for a location that names another.

    Raises:
        ConfigurationError: they differ.
    """
    account = host.split(".", maxsplit=1)[0]
    if account and configured and account != configured:
        raise ConfigurationError(f"the location is in the account {account!r}, the credentials are for {configured!r}")
