"""A line between two network namespaces with delay and loss, for kernels without netem:
network.py NEAR FAR DELAY_MS JITTER_MS LOSS_PERCENT. It carries IP packets from a TUN device `near` in one namespace to a TUN
device `far` in the other and back, until it is terminated, and then says how many there were."""
import ctypes
import fcntl
import heapq
import os
import random
import select
import signal
import struct
import sys
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000


def device(namespace, name):
    """A TUN device in a namespace, where it stays."""
    entered = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(entered, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def carry(ends, delay_s, jitter_s, loss):
    """Carries packets until a signal comes; how many there were, and how many of them were lost."""
    running = True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    due = {end: 0.0 for end in ends}
    waiting, carried, lost = [], 0, 0
    while running:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, end, packet = heapq.heappop(waiting)
            os.write(end, packet)
        timeout = min(waiting[0][0] - now, 0.2) if waiting else 0.2
        for end in select.select(ends, [], [], timeout)[0]:
            packet = os.read(end, 65535)
            carried += 1
            if random.random() < loss:
                lost += 1
                continue
            to = other[end]
            # Packets keep their order, as on a line.
            due[to] = max(due[to], time.monotonic() + delay_s + random.uniform(-jitter_s, jitter_s))
            heapq.heappush(waiting, (due[to], carried, to, packet))
    return carried, lost


def main():
    near, far = sys.argv[1:3]
    delay_ms, jitter_ms, loss_percent = map(float, sys.argv[3:6])
    ends = [device(near, "near"), device(far, "far")]
    print("ready", flush=True)
    carried, lost = carry(ends, delay_ms / 1000, jitter_ms / 1000, loss_percent / 100)
    print(f"{carried} packets, {lost} of them lost", flush=True)


main()
