/** An attack of a hostile program on one resource, as a shell command; each prints what it got, and then frees it. */
export interface Exhaustion {
  readonly what: string
  readonly command: string
  /** The attacker's output when it met the bound; null where the agent may be ended before it can print anything. */
  readonly bound: RegExp | null
}

const python = (text: string) => `python3 - <<'END'\n${text.trim()}\nEND`

export const exhaustions: readonly Exhaustion[] = [
  {
    what: 'processes, by a bomb that forks in the background',
    command: `cat > bomb.sh <<'END'
i=0; while [ $i -lt 3000 ]; do sh bomb-child.sh & i=$((i+1)); done; wait
END
echo 'sleep 4' > bomb-child.sh; sh bomb.sh 2>&1 | grep -oi 'cannot fork\\|resource' | sort | uniq -c; echo over`,
    bound: /[1-9]\d* (?:cannot fork|resource)/i,
  },
  {
    what: 'processes, by programs that left their parents',
    command: python(`
import os, time
started = 0
for at in range(2000):
    try:
        if os.fork() == 0:
            try: os.setsid()
            except OSError: pass
            time.sleep(6); os._exit(0)
        started += 1
    except OSError as e:
        print('refused after', started, e.errno); break
`),
    bound: /refused after \d{1,3} 11/,
  },
  {
    what: 'memory',
    command: `${python(`
kept = []
for at in range(4000): kept.append(bytearray(b'x') * (1024 * 1024))
`)}\necho "ended with $?"`,
    bound: /ended with (?:137|1)/,
  },
  {
    what: 'open files, in one program',
    command: python(`
import os
files = []
try:
    while True: files.append(os.open('/dev/null', os.O_RDONLY))
except OSError as e: print('refused after', len(files), e.errno)
`),
    bound: /refused after 8\d{3} 24/,
  },
  {
    what: 'open files, in several programs at once',
    command: python(`
import os, time
def fork():
    # Programs of the attempt before may not be gone yet.
    until = time.time() + 60
    while True:
        try: return os.fork()
        except OSError:
            if time.time() > until: raise
            time.sleep(0.5)
for child in range(6):
    if fork() == 0:
        files = []
        try:
            while True: files.append(os.open('/dev/null', os.O_RDONLY))
        except OSError as e: print('refused after', len(files), e.errno, flush=True)
        time.sleep(4); os._exit(0)
for child in range(6): os.wait()
`),
    bound: /(?:refused after 8\d{3} 24\s*){6}/,
  },
  {
    what: 'memory through /tmp and /dev/shm',
    command: `for where in /tmp /dev/shm /dev /run /var/tmp; do for n in 1 2 3 4 5; do head -c 60M /dev/zero > $where/fill$n; done; done 2>&1 | grep -c . ; cat /tmp/fill* | wc -c; rm -f /tmp/fill*`,
    bound: /10\d{7}\s*$/,
  },
  {
    what: 'inodes of /tmp',
    command: python(`
import os
made = 0
try:
    for at in range(300000):
        os.close(os.open('/tmp/f%d' % at, os.O_CREAT | os.O_WRONLY)); made += 1
except OSError as e: print('refused after', made, e.errno)
print('made', made)
for at in range(made): os.unlink('/tmp/f%d' % at)
`),
    bound: /refused after \d+ (?:28|12)/,
  },
  {
    what: 'inodes of /data',
    command: python(`
import os
made = 0
os.makedirs('many', exist_ok=True)
try:
    for at in range(60000):
        os.close(os.open('many/f%d' % at, os.O_CREAT | os.O_WRONLY)); made += 1
except OSError as e: print('refused after', made, e.errno)
print('made', made)
import shutil; shutil.rmtree('many')
`),
    // A volume of 128 MB has 16,384 inodes; where only the bytes of /data are limited, no file is refused.
    bound: /refused after 16\d{3} 28/,
  },
  {
    what: 'connections to the listeners, held open and silent',
    command: python(`
import os, socket, time
from urllib.parse import urlparse
held, ends = [], {}
listeners = [urlparse(os.environ['OPENAI_BASE_URL']), urlparse(os.environ['HTTP_PROXY'])]
until = time.time() + 8
while time.time() < until:
    for one in listeners:
        for at in range(50):
            try:
                s = socket.create_connection((one.hostname, one.port), 1); s.send(b'POST /v1/chat/completions HTTP/1.1\\r\\n'); held.append(s)
            except OSError as e: ends[type(e).__name__] = ends.get(type(e).__name__, 0) + 1
    if len(held) > 3000: break
    time.sleep(0.2)
for s in held: s.setblocking(False)
def lives(s):
    try: return s.recv(1) != b''
    except BlockingIOError: return True
    except OSError: return False
# The last of them may not have heard yet that they were hung up on, or wait for a busy mesh to take them.
alive, until = len(held), time.time() + 80
while alive > 256 and time.time() < until:
    time.sleep(0.2)
    alive = sum(lives(s) for s in held)
print('held', len(held), 'alive', alive, ends)
`),
    // Each of the two listeners accepts at most 128 connections.
    bound: /alive (?:\d{1,2}|1\d\d|2[0-4]\d|25[0-6]) /,
  },
]
