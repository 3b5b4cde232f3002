"""Milliseconds a launch, of contestants that take turns.

Every sample starts behind a kernel that spins, so that launches are queued before the
first of them runs; a sample that the host was too slow for is taken again. Time that
the host needs for a call is therefore outside of the figures, all kernels that a call
launches are inside.

Burst: the device idles 60 ms, then works about 2 ms. Sustained: it works 60 ms that do
not count and 60 ms that do.
"""

import time

import torch

# About; the spin's length only has to be long enough.
CYCLES_PER_MICROSECOND = 2000
ATTEMPTS = 5


class Contestant:
    """`launch` queues the work of one call and returns nothing that matters."""

    def __init__(self, name, launch):
        self.name = name
        self.launch = launch
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.late_samples = 0
        launch()
        torch.cuda.synchronize()
        self.host_microseconds = min(self._host_seconds() for _ in range(5)) * 1e6
        self.milliseconds = max(1e-3, self.sample(3, 3, 60 + 4 * self.host_microseconds))

    def _host_seconds(self):
        start = time.perf_counter()
        self.launch()
        seconds = time.perf_counter() - start
        torch.cuda.synchronize()
        return seconds

    def sample(self, count, ahead, spin_microseconds):
        """The mean of `count` launches, of which `ahead` must be queued when the first starts."""
        for attempt in range(ATTEMPTS):
            torch.cuda._sleep(int(CYCLES_PER_MICROSECOND * spin_microseconds) << attempt)
            self.begin.record()
            late = False
            for i in range(count):
                self.launch()
                if i + 1 == ahead:
                    late = self.begin.query()
            self.end.record()
            self.end.synchronize()
            if not late:
                break
            self.late_samples += 1
        return self.begin.elapsed_time(self.end) / count

    def work(self, milliseconds, least_spin):
        count = max(1, round(milliseconds / self.milliseconds))
        ahead = min(count, 3)
        if 1000 * self.milliseconds < 1.3 * self.host_microseconds:
            count = ahead = min(count, 24)
        spin = max(least_spin, min(6000, 60 + 1.4 * ahead * self.host_microseconds))
        return count, ahead, spin


def in_turns(contestants, rounds, sample):
    """Samples by contestant name; who is first changes every round."""
    times = {contestant.name: [] for contestant in contestants}
    for r in range(rounds):
        for i in range(len(contestants)):
            contestant = contestants[(i + r) % len(contestants)]
            times[contestant.name].append(sample(contestant))
    return times


def burst(contestants, rounds):
    def sample(contestant):
        time.sleep(0.06)
        return contestant.sample(*contestant.work(2.0, 1500))
    return in_turns(contestants, rounds, sample)


def sustained(contestants, rounds):
    def sample(contestant):
        count, ahead, spin = contestant.work(60.0, 60)
        for _ in range(count):
            contestant.launch()
        return contestant.sample(count, ahead, spin)
    return in_turns(contestants, rounds, sample)
