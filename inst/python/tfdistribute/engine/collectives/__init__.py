"""Exchange of gradients between workers: sockets, and memory that workers of one machine share."""

from tfdistribute.engine.collectives.connections import BROKEN, BrokenExchangeError
