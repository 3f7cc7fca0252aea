"""How often each sender may ask something of this process."""

import ipaddress
import time

_MOST_SENDERS = 10_000


class Limit:
    """So many requests a second of each sender, after a burst; senders that were not seen for long are forgotten."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}  # sender -> what it had left, and when; the latest last

    def allows(self, sender: str) -> bool:
        """Whether one more request is allowed now; it is counted if so."""
        now = time.monotonic()
        left, at = self._left.pop(sender, (float(self.burst), now))
        left = min(float(self.burst), left + (now - at) * self.rate)
        allowed = left >= 1.0
        self._left[sender] = (left - allowed, now)
        if len(self._left) > _MOST_SENDERS:
            del self._left[next(iter(self._left))]
        return allowed


def network(address: str) -> str:
    """Sender that an address stands for: an IPv6 network has more addresses than can be counted one by one.

    >>> network("192.0.2.7"), network("2001:db8:1:2:3:4:5:6"), network("testclient")
    ('192.0.2.7', '2001:db8:1:2::/64', 'testclient')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if parsed.version == 4 else str(ipaddress.ip_network((parsed, 64), strict=False))
