"""Names the right that a request needs which S3 refused, in the words of IAM."""

from __future__ import annotations

from nessie_gc_iceberg_files.stores import granting, one_line

_REFUSALS = frozenset({"AccessDenied", "AllAccessDisabled", "403"})
"""Codes of S3 that say that an account is known, and may not do this."""
_RIGHTS = {
    "CopyObject": "s3:GetObject and s3:PutObject",
    "DeleteObjectTagging": "s3:DeleteObjectTagging",
    "GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
    "GetBucketVersioning": "s3:GetBucketVersioning",
    "GetObjectTagging": "s3:GetObjectTagging",
    "HeadObject": "s3:GetObject",
    "ListObjectVersions": "s3:ListBucketVersions",
    "PutObjectTagging": "s3:PutObjectTagging",
}
"""Operation of boto3 to the actions of IAM that it needs."""


def with_s3_right(reason: str, code: str, right: str) -> str:
    """A reason of S3, and where it is a refusal, the right to grant.

    Args:
        reason: what S3 said.
        code: its code.
        right: the action of IAM that the request needs.
    """
    return granting(reason, right) if code in _REFUSALS else reason


def said_of(error: Exception) -> str:
    """What went wrong, in one line, and where S3 refused it, the right to grant.

    Args:
        error: whichever; those of boto3 have an operation. It is not imported: not every installation has it.
    """
    said = one_line(error) or type(error).__name__
    right = _RIGHTS.get(getattr(error, "operation_name", ""))
    code = getattr(error, "response", {}).get("Error", {}).get("Code", "") if right else ""
    return with_s3_right(said, str(code), right) if right else said
