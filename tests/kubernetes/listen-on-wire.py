"""Hears every frame of a network interface until its input ends; then says how many bytes it heard, and which of the words."""

import json
import select
import socket
import sys

interface, *words = sys.argv[1:]
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
wire.bind((interface, 0))
heard = {word: False for word in words}
total = 0
print("listening", flush=True)
while True:
    ready, _, _ = select.select([wire, sys.stdin], [], [])
    if wire in ready:
        frame = wire.recv(65536)
        total += len(frame)
        for word in words:
            heard[word] = heard[word] or word.encode() in frame
    elif sys.stdin in ready:
        break
print(json.dumps({"bytes": total, "heard": [word for word in words if heard[word]]}), flush=True)
