"""Accounts of an S3 server that obeys policies of IAM: those of the policy files, and reduced ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import boto3
from noted_requests import Asked
from rights_of_requests import s3_rights

from nessie_gc_core.testing.servers.s3 import S3Server

POLICIES = Path(__file__).parents[1] / "examples" / "rights" / "s3"
UNKNOWN_HERE = ("s3:GetLifecycleConfiguration",)
"""Rights that this server has not, and so cannot grant; without this one there is a warning."""


def policy(use: str) -> dict[str, Any]:
    """The policy of a file."""
    found: dict[str, Any] = json.loads((POLICIES / f"{use}.json").read_text(encoding="utf-8"))
    return found


def reduced(policy: Mapping[str, Any], *rights: str) -> Mapping[str, Any]:
    """A policy that does not allow some actions; one that allows none of them stays as it is."""
    if not any(action in rights for each in policy["Statement"] for action in each["Action"]):
        return policy
    kept = [
        {**each, "Action": [action for action in each["Action"] if action not in rights]}
        for each in policy["Statement"]
    ]
    return {**policy, "Statement": [each for each in kept if each["Action"]]}


def allowed(use: str) -> set[tuple[str, str]]:
    """Each action of a policy file, with what it is allowed on."""
    return {
        (action, resource)
        for statement in policy(use)["Statement"]
        for action in statement["Action"]
        for resource in statement["Resource"]
    }


def asked_for(requests: Iterable[Asked]) -> set[tuple[str, str]]:
    """Each action that requests need, with the bucket, or the pattern for the folder of the object."""
    found = set[tuple[str, str]]()
    for action, arn in s3_rights(requests):
        bucket, slash, key = arn.partition("/")
        found.add((action, f"{bucket}/{key.partition('/')[0]}/*" if slash else bucket))
    return found


def client(server: S3Server, service: str) -> Any:
    """A client of the administrator."""
    keys = {"aws_access_key_id": server.access_key, "aws_secret_access_key": server.secret_key}
    return boto3.client(service, endpoint_url=server.endpoint, region_name=server.region, **keys)


def account(server: S3Server, endpoint: str, name: str, policy: Mapping[str, Any]) -> dict[str, str]:
    """Properties of a new account with a policy.

    Args:
        server: it must be one that makes users.
        endpoint: by which the account reaches it.
        name: of the account.
        policy: what it may do.
    """
    iam = client(server, "iam")
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=json.dumps(reduced(policy, *UNKNOWN_HERE)))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {
        **server.properties,
        "s3.endpoint": endpoint,
        "s3.access-key-id": key["AccessKeyId"],
        "s3.secret-access-key": key["SecretAccessKey"],
        "s3.retry.num-retries": "0",
    }
