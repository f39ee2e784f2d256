import { beforeAll, expect, it } from 'vitest'
import type { SandboxState } from '../../packages/fleet/src/sandbox/sandbox-runtime.ts'
import { engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

/** Programs that agents use; each must work under the system call filter and the other restrictions. */
const programs: readonly (readonly [name: string, command: string, says: RegExp])[] = [
  [
    'git commits and clones',
    'cd /data && rm -rf g h && git init -q g && cd g && git config user.email a@b && git config user.name a && echo hi > f && git add f && git commit -qm one && cd .. && git clone -q g h && git -C h log --oneline && git -C h gc -q && cat h/f',
    /one[\s\S]*hi/,
  ],
  [
    'python3 runs programs and threads',
    "python3 -c \"import json,subprocess,threading,sqlite3,tempfile,os; t=threading.Thread(target=lambda: None); t.start(); t.join(); sqlite3.connect(os.path.expanduser('~/p.db')).execute('create table if not exists a(b)'); print(json.dumps(subprocess.check_output(['echo','py']).decode()))\"",
    /py/,
  ],
  ['curl speaks HTTP', 'curl -sS http://127.0.0.1:8400/healthz', /ok/],
  ['jq filters', `echo '{"a":[1,2]}' | jq -c .a`, /\[1,2\]/],
  [
    'ripgrep searches',
    'mkdir -p /data/r && echo needle > /data/r/f && cd /data/r && rg -n needle',
    /1:needle/,
  ],
  ['npm knows its version', 'npm --version', /^\d+\.\d+\.\d+/],
  [
    'npm makes and packs a package',
    'rm -rf /data/n && mkdir /data/n && cd /data/n && npm init -y >/dev/null && npm pack --silent',
    /n-1\.0\.0\.tgz/,
  ],
  ['node starts programs', `node -p "require('child_process').execSync('echo child').toString()"`, /child/],
  [
    'node starts worker threads',
    `node -e "new (require('worker_threads').Worker)('console.log(\\'worker\\')',{eval:true})"`,
    /worker/,
  ],
  [
    'node watches files',
    `cd /data && node -e "const fs=require('fs');const w=fs.watch('/data',(e,f)=>{console.log('saw',f);w.close()});setTimeout(()=>fs.writeFileSync('/data/w','x'),50)"`,
    /saw w/,
  ],
  [
    'node keeps SQLite with full-text search',
    `node -e "const {DatabaseSync}=require('node:sqlite');const d=new DatabaseSync('/data/t.db');d.exec('pragma journal_mode=wal; create virtual table if not exists t using fts5(x); insert into t values(\\'hello\\')');console.log(d.prepare('select x from t where t match ?').get('hello').x)"`,
    /hello/,
  ],
  [
    'node hashes passwords and compresses',
    `node -p "const c=require('crypto'),z=require('zlib');c.scryptSync('a','b',16).length+z.gunzipSync(z.gzipSync('zip')).toString()"`,
    /16zip/,
  ],
  [
    'archives are made and read',
    'cd /data && echo a > a && tar cJf a.tar.xz a && tar xJf a.tar.xz -O && file a.tar.xz',
    /a\n[\s\S]*XZ/,
  ],
  [
    'files are copied with their attributes',
    'cd /data && cp -a /etc/os-release . && mkfifo -m 600 pipe && rm pipe && find . -name os-release -printf "%f\\n" && ls -l --time-style=+%Y os-release | wc -l',
    /os-release[\s\S]*1/,
  ],
  ['a shell sets its own limits', 'ulimit -n 64; ulimit -n; nice -n 5 nice', /64\n5/],
  [
    'python3 sets its own limits, and ends and waits for its children',
    "python3 -c \"import resource,os,subprocess,signal; resource.setrlimit(resource.RLIMIT_NOFILE,(64,64)); os.nice(3); os.sched_setaffinity(0,os.sched_getaffinity(0)); p=subprocess.Popen(['sleep','60']); p.terminate(); print(p.wait(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])\"",
    /-15 64/,
  ],
  [
    'node sets its priority and ends its children',
    `node -e "const os=require('os');os.setPriority(3);const c=require('child_process').spawn('sleep',['60']);c.on('exit',(_,s)=>console.log(s,os.getPriority()));c.kill()"`,
    /SIGTERM 3/,
  ],
  [
    'a shell runs pipes, jobs and timeouts',
    'timeout 5 sh -c "seq 3 | sort -r | head -1; sleep 0.1 & wait; ps | wc -l"',
    /^3/,
  ],
]

/** System calls with their numbers on x64 and arm64, called through libc's `syscall`; all must fail. */
const refused: readonly (readonly [name: string, x64: number, arm64: number, args: string])[] = [
  ['ptrace', 101, 117, '16, os.getppid(), 0, 0'],
  ['process_vm_readv', 310, 270, 'os.getppid(), 0, 0, 0, 0, 0'],
  ['process_vm_writev', 311, 271, 'os.getppid(), 0, 0, 0, 0, 0'],
  ['io_uring_setup', 425, 425, '8, buffer'],
  ['io_uring_enter', 426, 426, '0, 0, 0, 0, 0'],
  ['io_uring_register', 427, 427, '0, 0, 0, 0'],
  ['keyctl', 250, 219, '0, -3, 0'],
  ['add_key', 248, 217, 'b"user", b"k", b"v", 1, -3'],
  ['request_key', 249, 218, 'b"user", b"k", 0, -3'],
  ['userfaultfd', 323, 282, '1'],
  ['bpf', 321, 280, '0, buffer, 48'],
  ['perf_event_open', 298, 241, 'buffer, 0, -1, -1, 0'],
  ['mount', 165, 40, 'b"none", b"/tmp", b"tmpfs", 0, 0'],
  ['unshare of a user namespace', 272, 97, '0x10000000'],
  ['unshare of a network namespace', 272, 97, '0x40000000'],
  ['setns', 308, 268, 'os.open("/proc/self/ns/net", 0), 0'],
  ['clone into a user namespace', 56, 220, '0x10000011, 0, 0, 0, 0'],
  ['clone into a mount namespace', 56, 220, '0x00020011, 0, 0, 0, 0'],
  ['open_by_handle_at', 304, 265, '-100, buffer, 0'],
  ['fsopen', 430, 430, 'b"tmpfs", 0'],
  ['move_mount', 429, 429, '-100, b"/", -100, b"/tmp", 0'],
  ['pidfd_getfd', 438, 438, '0, 0, 0'],
]

const stop = 19
/** A 64-bit argument of which the kernel reads only the lower half, so the filter must do the same. */
const wide = (number: string) => `ctypes.c_ulong((1 << 32) | ${number})`

/** Calls that a program may make only on itself, or not at all; `args` are refused arguments. */
const onOthers: readonly (readonly [name: string, x64: number, arm64: number, args: string])[] = [
  ['reading the limits of another', 302, 261, 'agent, 7, 0, buffer'],
  ['setting the limits of another', 302, 261, 'agent, 7, few, 0'],
  ['setting the limits of another by a wide number', 302, 261, `${wide('agent')}, 7, few, 0`],
  ['making another wait for the processor', 141, 140, '0, agent, 19'],
  ['making a whole user wait for the processor', 141, 140, '2, 0, 19'],
  ['moving another to one processor', 203, 122, 'agent, 8, one'],
  ['scheduling another', 144, 119, 'agent, 5, buffer'],
  ['scheduling another by attributes', 314, 274, 'agent, attributes, 0'],
  ['setting the priority of another', 142, 118, 'agent, buffer'],
  ['making another wait for the disk', 251, 30, '1, agent, 0x6000'],
  ['stopping a process', 62, 129, `agent, ${stop}`],
  ['stopping a process by a wide number', 62, 129, `agent, ${wide(String(stop))}`],
  ['stopping a process as a terminal would', 62, 129, 'agent, 20'],
  ['stopping a thread', 200, 130, `agent, ${stop}`],
  ['stopping a thread of a process', 234, 131, `agent, agent, ${stop}`],
  ['stopping a process with a value', 129, 138, `agent, ${stop}, told`],
  ['stopping a thread with a value', 297, 240, `agent, agent, ${stop}, told`],
  ['stopping a process by its descriptor', 424, 424, `os.pidfd_open(agent), ${stop}, 0, 0`],
  ['choosing the signal of a file', 72, 25, `0, 10, ${stop}`],
]
/** The same calls on the caller itself, or with a signal that does not stop a process. */
const onItself: readonly (readonly [name: string, x64: number, arm64: number, args: string])[] = [
  ['reading its limits', 302, 261, '0, 7, 0, buffer'],
  ['setting its limits', 302, 261, '0, 7, few, 0'],
  ['waiting for the processor', 141, 140, '0, 0, 19'],
  ['moving to one processor', 203, 122, '0, 8, one'],
  ['asking after a process', 62, 129, 'agent, 0'],
  ['waking a process', 62, 129, 'agent, 18'],
  ['waking a thread of a process', 234, 131, 'agent, agent, 18'],
  ['waking a process by its descriptor', 424, 424, 'os.pidfd_open(agent), 18, 0, 0'],
  ['reading the signal of a file', 72, 25, '0, 11, 0'],
]

withEngine(
  'the system call filter',
  (engine) => {
    const home = useDockerHome(engine)
    let state: SandboxState

    beforeAll(async () => {
      const cpu = { quotaUs: 200_000, periodUs: 100_000 }
      state = await home().start({ agentId: 'worker', cpu })
    })

    it.each(programs)('the system call filter lets work: %s', async (_, command, says) => {
      const said = await home().run(state, command)
      expect(said.text).toMatch(says)
      expect(said.code).toBe(0)
    })

    const call = async (numbers: readonly [number, number], args: string) => {
      const number = numbers[engine.architecture === 'x64' ? 0 : 1]
      const script = `import ctypes,os,errno
libc=ctypes.CDLL(None,use_errno=True); buffer=ctypes.create_string_buffer(256)
# The program that started this one, which is what an agent is to its programs.
agent=next(int(p) for p in os.listdir('/proc') if p.isdigit() and b'node' in open(f'/proc/{p}/cmdline','rb').read().split(b'\\0')[0])
few=ctypes.create_string_buffer((1024).to_bytes(8,'little')+(8192).to_bytes(8,'little')); one=ctypes.create_string_buffer((1).to_bytes(8,'little'))
told=ctypes.create_string_buffer(bytes(8)+(-1).to_bytes(4,'little',signed=True)+bytes(116))
attributes=ctypes.create_string_buffer((48).to_bytes(4,'little')+bytes(44))
result=libc.syscall(${number}, ${args}); os.kill(agent, 18)
if result==0 and ${number} in (56,220): os._exit(0)
print('result', result, errno.errorcode.get(ctypes.get_errno()))`
      return (await python(script)).text
    }

    /** Passes the script in base64, so that the shell's quoting does not matter. */
    const python = (script: string) =>
      home().run(
        state,
        `echo ${Buffer.from(script).toString('base64')} | base64 -d > /data/try.py && exec python3 /data/try.py`,
      )

    it('the system call filter lets a harmless call through the same way, so that a refusal means something', async () => {
      expect(await call([39, 172], '0')).toMatch(/^result \d+/)
    })

    it.each(refused)('the system call filter refuses %s', async (...[, x64, arm64, args]) => {
      expect(await call([x64, arm64], args)).toMatch(/result -1 (EPERM|ENOSYS)/)
    })

    it.each(onOthers)('the system call filter refuses %s', async (...[, x64, arm64, args]) => {
      expect(await call([x64, arm64], args)).toMatch(/result -1 EPERM/)
    })

    it.each(onItself)('the system call filter allows %s', async (...[, x64, arm64, args]) => {
      expect(await call([x64, arm64], args)).toMatch(/^result 0/)
    })

    it('the system call filter answers clone3 as if the kernel had none, so that libc falls back to clone', async () => {
      expect(await call([435, 435], 'buffer, 88')).toContain('result -1 ENOSYS')
    })

    it.runIf(engine.architecture === 'x64')(
      'the system call filter ends a process that speaks the 32-bit interface',
      async () => {
        // int 0x80 with eax=20 (getpid in the 32-bit table), from memory that python maps as executable.
        const script = `import ctypes,mmap
m=mmap.mmap(-1,4096,prot=7); m.write(bytes([0xb8,20,0,0,0,0xcd,0x80,0xc3]))
f=ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
print('pid', f())`
        const said = await python(script)
        expect(said.text).not.toMatch(/pid \d/)
        expect(said.code).toBe('SIGSYS')
      },
    )

    it('the system call filter refuses new namespaces to the tools that make them', async () => {
      for (const flag of ['--user', '--net', '--mount', '--pid', '--ipc', '--uts', '--cgroup']) {
        expect(await home().run(state, `unshare ${flag} true; echo ${flag} $?`)).toMatchObject({
          text: expect.stringMatching(new RegExp(`${flag} [1-9]`)),
        })
      }
    })
  },
  found,
)
