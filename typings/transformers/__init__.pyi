# transformers is checked by running it: reading its 5,800 files takes pyright half of its time.
from typing import Any

def __getattr__(name: str) -> Any: ...
