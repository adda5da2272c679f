"""Time and entropy: the only place that asks the machine for either."""

import secrets
import string
import time

_ALPHABET = string.ascii_letters + string.digits + "-_"


class SystemClock:
    def now(self) -> float:
        return time.time()


class SystemEntropy:
    def token(self, length: int) -> str:
        return "".join(secrets.choice(_ALPHABET) for _ in range(length))

    def below(self, limit: int) -> int:
        return secrets.randbelow(limit)
