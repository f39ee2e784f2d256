import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { heedsLesson } from '../verifies.ts'
import type { SandboxState } from '../../packages/fleet/src/sandbox/sandbox-runtime.ts'
import { hostAddresses, openCanary, reaches } from '../../packages/fleet/src/sandbox/hardening/canary.ts'
import { patient } from '../support/patience.ts'
import type { DockerHome } from './sandbox-lane.ts'

export const meshPort = 8420
/** The time limit for making the image of the attacker, in milliseconds. */
const imageTimeoutMs = 900_000

/**
 * Attacks each wall from a container that runs from the image, beside the container of a victim. Something listens at the
 * port of the agent API as long as the tests run.
 */
export function attackWalls(home: () => DockerHome, imageOf: () => Promise<string | null>): void {
  let listener: Server
  let canary: Awaited<ReturnType<typeof openCanary>>
  let attacker: SandboxState
  let victim: SandboxState

  beforeAll(async () => {
    listener = createServer((socket) => socket.on('error', () => {}).end('listener\n'))
    await new Promise<void>((resolve) => listener.listen(meshPort, home().runtime.listenHost(), resolve))
    canary = await openCanary()
    victim = await home().start({ agentId: 'victim', files: { secret: 'the-secret' } })
    const cpu = { quotaUs: 100_000, periodUs: 100_000 }
    attacker = await home().start({
      agentId: 'attacker',
      image: await imageOf(),
      cpu,
      environment: { FLOTILLA_MESH_URL: 'http://x' },
    })
  }, imageTimeoutMs)

  afterAll(async () => {
    await canary?.close()
    await new Promise((resolve) => listener.close(resolve))
  })

  const attack = (command: string) => home().run(attacker, command)
  /** Opens a TCP connection from inside; returns the outcome as Python names it. */
  const tcp = async (host: string, port: number) =>
    (
      await attack(
        `python3 -c "import socket,sys
try:
  socket.create_connection(('${host}',${port}),2); print('connected')
except Exception as e: print(type(e).__name__, e)"`,
      )
    ).text.trim()

  it('an agent reaches the agent API', async () => {
    expect(await tcp(home().runtime.listenHost(), meshPort)).toBe('connected')
  })

  it('an agent reaches no other port of the host, on any of its addresses', async () => {
    const addresses = [...new Set([...(await hostAddresses()), home().runtime.listenHost()])]
    for (const address of addresses) {
      // Other homes come and go during the test, and their networks' addresses with them.
      if (!(await hostAddresses()).includes(address)) continue
      expect([address, await reaches(address, canary.port)]).toEqual([address, true])
      expect(`${address}: ${await tcp(address, canary.port)}`).toMatch(/OSError|timeout/i)
    }
  })

  it('an agent reaches no other agent, which the host does reach', async () => {
    heedsLesson(2)
    expect(victim.address).toBeDefined()
    const { host, port } = victim.address ?? { host: '', port: 0 }
    expect(await reaches(host, port)).toBe(true)
    expect(await tcp(host, port)).toMatch(/timed out|OSError/)
  })

  it('an agent reaches neither the internet nor a metadata address', async () => {
    expect(await tcp('1.1.1.1', 443)).not.toBe('connected')
    expect(await tcp('169.254.169.254', 80)).not.toBe('connected')
  })

  it('an agent gets no datagram to the host', async () => {
    const said = await attack(
      `python3 -c "import socket
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.settimeout(2); s.connect(('${home().runtime.listenHost()}',53))
try:
  s.send(b'x'); s.recv(10); print('answered')
except Exception as e: print('refused', e)"`,
    )
    expect(said.text).toMatch(/^refused/)
  })

  it('a name of the outside resolves to nothing', async () => {
    const said = await attack('getent hosts example.com; echo "code $?"')
    expect(said.text).toContain('code 2')
  })

  it('an agent has no IPv6 address to speak from', async () => {
    expect(Object.keys(networkInterfaces()).length).toBeGreaterThan(0)
    expect((await attack('cat /proc/net/if_inet6 2>/dev/null | grep -v " lo$" | wc -l')).text.trim()).toBe(
      '0',
    )
  })

  it.each([
    ['raw', 'socket.AF_INET, socket.SOCK_RAW, 1'],
    ['packet', 'socket.AF_PACKET, socket.SOCK_RAW, 3'],
    ['vsock', '40, socket.SOCK_STREAM, 0'],
    ['kernel crypto', '38, 5, 0'],
  ])('a %s socket is refused', async (_, args) => {
    const said = await attack(`python3 -c "import socket; socket.socket(${args})"`)
    expect(said.code).toBe(1)
    expect(said.text).toMatch(/PermissionError|Operation not permitted|not supported/)
  })

  it.each([
    '/x',
    '/etc/x',
    '/usr/bin/x',
    '/opt/flotilla/agent.cjs',
    '/briefing/x',
    '/proc/sys/kernel/hostname',
    '/sys/x',
  ])('writing %s is refused', async (path) => {
    const said = await attack(`echo x > ${path}`)
    expect(said.code).not.toBe(0)
    expect(said.text).toMatch(/Read-only|Permission denied|nonexistent|Directory/i)
  })

  it('a file in /tmp does not run, directly or through the loader', async () => {
    const said = await attack(
      'cp /bin/true /tmp/t; /tmp/t; echo "direct $?"; /lib64/ld-linux-x86-64.so.2 /tmp/t; echo "loader $?"',
    )
    expect(said.text).toMatch(/direct 126/)
    expect(said.text).not.toMatch(/loader 0/)
  })

  it('/tmp holds 100 MB and no more', async () => {
    const said = await attack(
      // In several files, since the size of one file has a limit of its own.
      'for n in 1 2 3 4; do dd if=/dev/zero of=/tmp/big$n bs=1M count=50 2>&1; done; cat /tmp/big* | wc -c; rm /tmp/big*',
    )
    expect(said.text).toMatch(/No space left/)
    expect(Number(said.text.trim().split('\n').at(-1))).toBeLessThanOrEqual(104_857_600)
  })

  it('a fork bomb stops at 256 and the agent answers on', async () => {
    // Each process runs longer than the attack, since one that ended would make room for the next; the
    // surrounding shell ends them.
    const bomb = 'i=0; while [ $i -lt 400 ]; do sleep 600 & i=$((i+1)); done; echo all'
    const said = await attack(`exec setsid --wait sh -c '( ${bomb} ) 2>&1; trap "" TERM; kill 0; echo over'`)
    expect(said.text).toMatch(/Cannot fork/)
    expect(said.text).not.toContain('all')
    await expect
      .poll(() => attack('echo alive').then((answer) => answer.text), { timeout: patient(20_000) })
      .toContain('alive')
  })

  it('an agent sees only its own volume and no engine socket', async () => {
    expect(
      (await attack('grep -rs the-secret /data /tmp /briefing /var/lib; echo "code $?"')).text,
    ).toContain('code ')
    expect(
      (await attack('grep -rsl the-secret / --exclude-dir=proc --exclude-dir=sys | head -3')).text.trim(),
    ).toBe('')
    expect(
      (await attack('find / -name "*.sock" -not -path "/proc/*" 2>/dev/null; ls /var/lib/docker 2>&1')).text,
    ).toMatch(/No such file/)
  })

  it('an agent makes no message queue, by its call, by opening a file or by a mount of its own', async () => {
    const said = await attack(
      `python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def told(what, work):
    try: print(what, work())
    except OSError as e: print(what, 'refused', e.errno)
def by_call():
    if libc.mq_open(b'/call', os.O_CREAT | os.O_RDWR, 0o600, None) < 0: raise OSError(ctypes.get_errno(), '')
told('call', by_call)
told('open', lambda: os.open('/dev/mqueue/opened', os.O_CREAT | os.O_RDWR, 0o600))
told('folder', lambda: os.mkdir('/dev/mqueue/folder'))
told('node', lambda: os.mknod('/dev/mqueue/node'))
told('mount', lambda: libc.mount(b'mqueue', b'/tmp', b'mqueue', 0, None) and 'refused by mount')
told('chmod', lambda: os.chmod('/dev/mqueue', 0o777))
print('there', os.listdir('/dev/mqueue') if os.path.isdir('/dev/mqueue') else 'none')
print('mounted', 'mqueue mqueue' in open('/proc/self/mounts').read())
END`,
    )
    expect(said.text.trim().split('\n')).toEqual([
      expect.stringMatching(/^call refused \d+$/),
      expect.stringMatching(/^open refused \d+$/),
      expect.stringMatching(/^folder refused \d+$/),
      expect.stringMatching(/^node refused \d+$/),
      'mount refused by mount',
      expect.stringMatching(/^chmod refused \d+$/),
      expect.stringMatching(/^there (?:\[\]|none)$/),
      'mounted False',
    ])
  })

  it('an agent has no capability, cannot gain one and finds no file that would give it', async () => {
    const said = await attack(
      'grep -E "Cap|NoNewPrivs|Seccomp:" /proc/self/status; find / -xdev -perm /6000 -type f 2>/dev/null | wc -l',
    )
    expect(said.text.match(/Cap\w+:\s+0{16}/g)).toHaveLength(5)
    expect(said.text).toMatch(/NoNewPrivs:\s+1/)
    expect(said.text).toMatch(/Seccomp:\s+2/)
    expect(said.text.trim().split('\n').at(-1)).toBe('0')
  })

  it('an agent sees no process but its own', async () => {
    const said = await attack('ps -e -o comm= | sort -u')
    expect(said.text).not.toMatch(/dockerd|containerd|systemd/)
  })
}
