import { execFileSync } from 'node:child_process'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import type { SandboxRuntime, SandboxState } from '../../packages/fleet/src/sandbox/sandbox-runtime.ts'
import { sandboxName, spelledName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { startNameServer } from '../support/name-server.ts'
import { engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()

/** A program that queries the engine's name server over UDP and TCP: addresses of names, and names of addresses. */
const probeProgram = String.raw`
import socket, struct, sys
from concurrent.futures import ThreadPoolExecutor
def question(name, kind):
    labels = b''.join(bytes([len(l)]) + l.encode() for l in name.split('.'))
    return b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00' + labels + b'\x00' + struct.pack('!HH', kind, 1)
def ask(name, way):
    q = question(name, 12 if name.endswith('arpa') else 1)
    try:
        if way == 'udp':
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)
            s.sendto(q, ('127.0.0.11', 53)); r = s.recv(2000)
        else:
            s = socket.create_connection(('127.0.0.11', 53), 3); s.settimeout(3)
            s.sendall(struct.pack('!H', len(q)) + q); r = s.recv(2000)[2:]
        return 'answered' if struct.unpack('!H', r[6:8])[0] else 'no such name'
    except Exception as e: return type(e).__name__
# Together, since one that nobody answers is waited for.
asked = [(name, way) for name in sys.argv[1:] for way in ('udp', 'tcp')]
with ThreadPoolExecutor(len(asked)) as pool:
    for (name, way), said in zip(asked, pool.map(lambda one: ask(*one), asked)): print(name, way, said)
`

withEngine(
  'names inside',
  (engine) => {
    const home = useDockerHome(engine)

    /** The agent whose name others look up; it is started once. */
    let other: Promise<SandboxState> | undefined
    const theOther = () => (other ??= home().start({ agentId: 'other' }))

    async function lookedUp(from: string, names: readonly string[]): Promise<readonly string[]> {
      const state = await home().start({ agentId: from })
      const seen = await home().run(state, `python3 - ${names.join(' ')} <<'END'\n${probeProgram}\nEND`)
      return seen.text.trim().split('\n')
    }

    it('an agent cannot find other agents by name, host name or address, and its lookups are rejected at once', async ({
      skip,
    }) => {
      if (process.getuid?.() !== 0) skip('the name server is shut by root alone')
      const asked = await theOther()
      const container = await engine.docker.getContainer(sandboxName(home().homeId, 'other')).inspect()
      const back = `${asked.address?.host.split('.').toReversed().join('.')}.in-addr.arpa`
      const { homeId } = home()
      const names = [sandboxName(homeId, 'other'), spelledName(homeId, 'other'), 'agent', 'other']
      const said = await lookedUp('asker', [
        ...names,
        container.Id.slice(0, 12),
        container.Config.Hostname,
        back,
      ])
      expect(said).toHaveLength(14)
      for (const line of said) expect(line).toMatch(/ (?:udp|tcp) (?:ConnectionRefused|Permission)Error$/)
    })

    /** An agent whose mesh lacks the rights to close the name server. */
    let unshut: Promise<{ readonly runtime: SandboxRuntime; readonly state: SandboxState }> | undefined
    const startUnshut = async () => {
      const runtime = await home().again({ uid: 1000 })
      return { runtime, state: await runtime.start(home().specOf({ agentId: 'unshut' })) }
    }
    afterAll(async () => (await unshut)?.runtime.close())

    it('an agent on an open network cannot resolve other agents by any name that it can guess', async () => {
      const { state } = await (unshut ??= startUnshut())
      await theOther()
      const { homeId } = home()
      const guesses = ['other', 'agent', spelledName(homeId, 'other'), sandboxName('x', 'other')]
      const names = [...guesses, sandboxName(homeId, 'other')].join(' ')
      const program = `python3 - ${names} <<'END'\n${probeProgram}\nEND`
      await expect
        .poll(
          () =>
            home()
              .run(state, 'true')
              .catch(() => null),
          { timeout: patient(20_000) },
        )
        .not.toBeNull()
      const seen = await home().run(state, program)
      const answered = seen.text.split('\n').filter((line) => line.endsWith(' answered'))
      // The name server works: with the home's id, the name is found.
      expect(answered).toEqual([
        expect.stringContaining(`${sandboxName(homeId, 'other')} udp`),
        expect.anything(),
      ])
    })

    it('an agent on an open network sends no lookup of outside names, neither by datagram nor by connection', async () => {
      const { runtime, state } = await (unshut ??= startUnshut())
      const gateway = runtime.listenHost()
      const outside = await startNameServer(() => ['6.6.6.6'], { host: gateway, port: 53 })
      onTestFinished(() => outside.close())
      const own = sandboxName(home().homeId, 'unshut')
      const names = `${own} the-secret.outside.test TXT.outside.test`
      const look = () => home().run(state, `python3 - ${names} <<'END'\n${probeProgram}\nEND`)
      await expect
        .poll(async () => (await look().catch(() => null))?.text, { timeout: patient(60_000) })
        .toMatch(/ answered$/m)
      const said = (await look()).text.trim().split('\n')
      expect(said.filter((line) => line.endsWith(' answered'))).toEqual([
        `${own} udp answered`,
        `${own} tcp answered`,
      ])
      expect(outside.asked).toEqual([])
      const { HostConfig } = await engine.docker.getContainer(own).inspect()
      // With a configured server the engine's resolver queries from inside the container; without one it may query
      // from the host.
      expect(HostConfig.Dns).toEqual([gateway])
    })

    it('a container that an earlier life left open is shut when it is adopted, once', async ({ skip }) => {
      if (process.getuid?.() !== 0) skip('the name server is shut by root alone')
      const { state } = await (unshut ??= startUnshut())
      const name = sandboxName(home().homeId, 'unshut')
      const look = () => home().run(state, `python3 - ${name} <<'END'\n${probeProgram}\nEND`)
      await expect
        .poll(async () => (await look().catch(() => null))?.text, { timeout: patient(20_000) })
        .toMatch(/ answered$/m)
      for (let life = 0; life < 2; life++) {
        const later = await home().again()
        onTestFinished(() => later.close())
        expect(await later.inspect('unshut')).toMatchObject({ running: true })
        for (const line of (await look()).text.trim().split('\n')) {
          expect(line).toMatch(/ (?:udp|tcp) (?:ConnectionRefused|Permission)Error$/)
        }
      }
      const inspected = await engine.docker.getContainer(name).inspect()
      const inside = [`--net=${inspected.NetworkSettings.SandboxKey}`, 'iptables', '-S', 'OUTPUT']
      const rules = execFileSync('nsenter', inside, { encoding: 'utf8' })
      expect(rules.match(/127\.0\.0\.11/g)).toHaveLength(1)
    })

    it('a container of an earlier release, whose name contains the agent id, is found and renamed', async () => {
      // This test is the last, since it renames the container that the others look up.
      const state = await theOther()
      const name = sandboxName(home().homeId, 'other')
      await engine.docker.getContainer(name).rename({ name: spelledName(home().homeId, 'other') })
      const later = await home().again()
      onTestFinished(() => later.close())
      expect(await later.inspect('other')).toMatchObject({ running: true, address: state.address })
      await later.stop('other', { graceMs: 0 })
      expect(await later.inspect('other')).toMatchObject({ running: false })
    })
  },
  found,
)
