"""The audit log: what was done, by whom asked and allowed, and what left the machine.

One JSON line an action, chained by HMAC-SHA256 with a key that is kept elsewhere, so that a line
that was changed, taken out, put in or moved is found (`verify`). It holds no patient data: images
and files are named by keyed hashes, so that a site can ask "was this image sent?" and nobody can
read from the log which images there were.
"""

from app.audit.lines import Entry
from app.audit.log import AuditFailed, AuditLog, note
from app.audit.verifying import Problem, Report, verify

__all__ = ["AuditFailed", "AuditLog", "Entry", "Problem", "Report", "note", "verify"]
