"""The audit log: what was done, what the user allowed, and what left the machine.

The log is a folder of JSON lines. Each line ends with an HMAC-SHA256 that also covers the line
before it, by a key that is kept elsewhere, so `verification.verify` finds every line that was
changed, removed, inserted or moved. The log holds no patient data: images and files are named by
keyed hashes, which answer "was this image sent?" without telling which images there were.
"""

from app.audit.entries import Entry
from app.audit.log import AuditFailed, AuditLog

__all__ = ["AuditFailed", "AuditLog", "Entry"]
