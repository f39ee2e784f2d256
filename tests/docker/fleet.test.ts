import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { DatabaseSync } from 'node:sqlite'
import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import type Dockerode from 'dockerode'
import { build } from 'esbuild'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { homeTag, sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { aCassette, calls, operatorHandsOff, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startFakeUpstream } from '../support/fake-upstream.ts'
import { httpCall } from '../support/http-call.ts'
import { openLedger } from '../support/ledger-view.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { voyageCassette, voyageQuestion } from '../support/voyage-cassette.ts'
import { verifies } from '../verifies.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()
const upstreamKey = 'sk-upstream-key-0123456789'

const cassette = aCassette(
  ...voyageCassette.tracks,
  ...operatorHandsOff({
    when: '^dig$',
    to: 'clerk',
    title: 'Dig',
    capture: { n: 'after (\\S+)' },
    answer: 'Dug: {{n}}.',
  }),
  {
    agents: ['clerk', 'other'],
    when: 'Dig|^dig (\\S+)$',
    turns: [
      runs('echo "dig begins" >> effects; sleep 4; echo "dig ends" >> effects'),
      runs('echo "after" >> effects; cat effects'),
      calls('complete_task', { summary: 'after all' }),
      says('Dug.'),
    ],
  },
)

withEngine(
  'a fleet',
  (engine) => {
    let mesh: MeshProcess
    let upstream: LlmUpstream
    let homeId: string
    let canary: { port: number; close: () => void }
    const container = (agent: string) => engine.docker.getContainer(sandboxName(homeId, agent))

    beforeAll(async () => {
      upstream = await startFakeUpstream()
      canary = await listenOnAllAddresses()
      const price = { input_per_mtok: 1, output_per_mtok: 2 }
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { fleet: cassette },
        environment: { FLOTILLA_SYSTEM_FAKE_KEY: upstreamKey, FLOTILLA_NO_INSTALL: '1' },
        settings: {
          providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl, api_key: 'fake_key' } },
          models: { 'fake/hello': { price }, 'fake/tool': { price } },
          agents: { clerk: { models: ['fake/hello', 'fake/tool'] } },
        },
      })
      homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
      for (const id of ['clerk', 'other']) await mesh.createWorker(id)
    })
    afterAll(async () => {
      await mesh?.stop()
      await upstream?.close()
      canary?.close()
    })
    beforeEach(() => mesh.restartIfStopped())

    async function inside(agent: string, command: string, timeoutSeconds = 120): Promise<string> {
      const run = await mesh.invoke(agent, 'run_command', { command, timeout_s: timeoutSeconds })
      const { result } = run.outcome ?? {}
      return typeof result === 'string' ? result : `${run.outcome?.text} ${JSON.stringify(result)}`
    }

    it('a fleet in containers answers a question with what a worker counted in its container', async () => {
      verifies('purpose:fleet-behind-mesh', 'purpose:agent:own-container', 'purpose:hardened-container')
      const content = await readFile(join(repositoryRoot, 'package-lock.json'))
      const params = { id: 'clerk', path: 'input/parcel.bin' }
      const put = await mesh.call(meshHumanEndpoints.fileWrite, {
        params,
        body: new Uint8Array(content),
        timeoutMs: patient(60_000),
      })
      expect(put.status, put.text).toBe(200)
      const run = await mesh.ask(voyageQuestion)
      const sum = createHash('sha256').update(content).digest('hex')
      expect(run.outcome?.text).toBe(`The file of ${content.length} bytes has the checksum ${sum}.`)
      expect(await mesh.tasks()).toMatchObject([{ state: 'done', assignee: 'clerk' }])
    })

    it('a fleet in containers runs every agent behind every wall', async () => {
      verifies(
        'resources:container:all-hardened',
        'resources:container:uid-1000',
        'resources:container:cap-drop-all',
        'resources:container:no-new-privileges',
        'resources:container:read-only-root',
        'resources:container:pids-limit',
        'resources:container:tmpfs-size',
        'resources:container:tmpfs-noexec',
        'resources:container:tmpfs-nosuid',
        'limits:worker-container:pids',
        'limits:worker-container:tmp',
        'limits:operator-container:hardening',
        'authentication:zone-1:hardened',
      )
      for (const agent of ['operator', 'clerk']) {
        const seen = await container(agent).inspect()
        const host = seen.HostConfig
        expect(seen.Config.User).toBe('1000:1000')
        expect(host).toMatchObject({
          CapDrop: ['ALL'],
          ReadonlyRootfs: true,
          PidsLimit: 256,
          Privileged: false,
        })
        expect(host.CapAdd ?? []).toEqual([])
        expect(host.SecurityOpt).toEqual(expect.arrayContaining(['no-new-privileges']))
        expect(
          host.SecurityOpt?.some(
            (option: string) => option.startsWith('seccomp=') && option !== 'seccomp=unconfined',
          ),
        ).toBe(true)
        expect(host.Tmpfs?.['/tmp']?.split(',')).toEqual(
          expect.arrayContaining(['noexec', 'nosuid', `size=${100 * 1024 * 1024}`]),
        )
        expect(
          Object.values(seen.NetworkSettings.Ports ?? {}).filter((bound) => (bound ?? []).length > 0),
        ).toEqual([])
        expect(
          seen.Mounts.filter((mount) => mount.Type === 'volume').map((mount) => mount.Destination),
        ).toEqual(['/data'])
        expect(seen.Mounts.filter((mount) => mount.RW).map((mount) => mount.Destination)).toEqual(['/data'])
        expect(seen.Config.Labels).toMatchObject({
          'flotilla.home': homeTag(homeId),
          'flotilla.agent': agent,
        })
      }
      const status = await inside(
        'clerk',
        'id -u; grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; touch /x 2>&1; grep " /tmp " /proc/mounts',
      )
      expect(status).toMatch(/^exit code 0\n1000\n/)
      expect(status).toMatch(/CapEff:\s+0+\n/)
      expect(status).toMatch(/CapBnd:\s+0+\n/)
      expect(status).toMatch(/NoNewPrivs:\s+1/)
      expect(status).toMatch(/Seccomp:\s+2/)
      expect(status).toContain('Read-only file system')
      expect(status).toMatch(/ \/tmp tmpfs \S*nosuid\S*noexec/)
    })

    it('a fleet in containers has every agent listen on port 8400 of an address of its own, where the mesh reaches it', async () => {
      verifies('purpose:agent:same-port', 'purpose:agent:bridged-address', 'purpose:agent:http-8400')
      verifies('endpoints:agent:port-8400')
      const addresses = new Set<string>()
      for (const agent of ['operator', 'clerk', 'other']) {
        const said = await inside(
          agent,
          'hostname -i; echo "$OPENAI_BASE_URL"; cat /proc/net/tcp /proc/net/tcp6',
        )
        const [, address = said, agentApi = ''] =
          /^exit code 0\n([\d.]+)\s+http:\/\/([\d.]+):/.exec(said) ?? []
        addresses.add(address)
        // Columns: local address and port, remote ones, and the state: 0A listens, 01 is a connection. 127.0.0.11
        // is Docker's own.
        const listening = [...said.matchAll(/: ([0-9A-F]+):([0-9A-F]{4}) [0-9A-F:]+ 0A /g)]
          .filter(([, host]) => host !== '0B00007F')
          .map(([, , port = '']) => Number.parseInt(port, 16))
        expect([...new Set(listening)], agent).toEqual([8400])
        const { NetworkSettings: network } = await container(agent).inspect()
        expect(Object.values(network.Networks).map(({ IPAddress }) => IPAddress)).toEqual([address])
        const health = await httpCall({ method: 'GET', url: `http://${address}:8400/healthz` })
        expect(health.json()).toEqual({ status: 'ok' })
        const url = `http://${address}:8400/status`
        expect((await httpCall({ method: 'GET', url })).status, agent).toBe(401)
        // The connection from the mesh that runs this command is open.
        const [own, peer] = [inTable(address), inTable(agentApi)]
        expect(said, agent).toMatch(new RegExp(`: \\w*${own}:20D0 \\w*${peer}:\\w{4} 01 `))
      }
      expect(addresses.size).toBe(3)
    })

    it('a fleet in containers gives worker and operator their memory and processor share', async () => {
      verifies(
        'resources:worker:memory',
        'resources:operator:memory',
        'resources:worker:cpu-quota',
        'resources:operator:cpu-quota',
        'limits:worker-container:memory',
        'limits:worker-container:cpu',
        'limits:operator-container:memory',
        'limits:operator-container:cpu',
      )
      const [worker, operator] = [await container('clerk').inspect(), await container('operator').inspect()]
      const share = ({ HostConfig: host }: Dockerode.ContainerInspectInfo) =>
        (host.CpuQuota ?? 0) / (host.CpuPeriod ?? 1)
      expect([worker.HostConfig.Memory, share(worker)]).toEqual([384 * 1024 * 1024, 0.15])
      expect([operator.HostConfig.Memory, share(operator)]).toEqual([128 * 1024 * 1024, 0.05])
    })

    it('a fleet in containers leaves no agent token where programs could find it', async () => {
      verifies('authentication:zone-1:no-llm-keys', 'purpose:agents:no-llm-keys')
      const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'), { readOnly: true })
      const rows = database.prepare("SELECT token, hash FROM agent_tokens WHERE agent_id = 'clerk'").all()
      database.close()
      const kinds = new Map(rows.map((row) => [String(row['hash']), String(row['token'])]))
      expect([...kinds.values()].toSorted()).toEqual(['door', 'program'])
      const program = Buffer.from(searchProgram)
      await mesh.call(meshHumanEndpoints.fileWrite, {
        params: { id: 'clerk', path: 'search.py' },
        body: program,
      })
      const said = await inside('clerk', `python3 search.py ${[...kinds.keys()].join(' ')}`, 200)
      const seen = JSON.parse(/\{.*\}/.exec(said)?.[0] ?? said) as {
        files: number
        found: Record<string, string>
      }
      // Only the program token, which programs may use, is found. That it is found proves that the search works.
      expect(Object.keys(seen.found).map((hash) => kinds.get(hash))).toEqual(['program'])
      expect(seen.files).toBeGreaterThan(50)
      expect(said).not.toContain(upstreamKey)
    })

    it('a fleet in containers lets a worker reach nothing but the agent API, and its own agent only with proof', async () => {
      verifies('purpose:assume-compromised', 'purpose:mediates-boundaries')
      const other = await inside('other', 'hostname -i')
      const otherAddress = /(\d+\.\d+\.\d+\.\d+)/.exec(other)?.[1] ?? ''
      const own = /http:\/\/([\d.]+):(\d+)/.exec(await inside('clerk', 'echo $OPENAI_BASE_URL'))
      const [, gateway = '', agentPort = ''] = own ?? []
      const meshPort = new URL(mesh.url).port
      const outside = await startOutsideServer(engine.docker, (await container('clerk').inspect()).Image)
      const targets = [
        [gateway, agentPort],
        [otherAddress, '8400'],
        [gateway, String(canary.port)],
        [gateway, meshPort],
        [outside, '8080'],
        ['169.254.169.254', '80'],
      ]
      const tries = targets.map(
        ([host, port]) =>
          `(exec 3<>/dev/tcp/${host}/${port}) 2>/dev/null & pid=$!; (sleep 3; kill -9 $pid 2>/dev/null) & wait $pid && echo "${host}:${port} open" || echo "${host}:${port} shut"`,
      )
      const said = await inside('clerk', tries.join('; '))
      expect(said).toContain(`${gateway}:${agentPort} open`)
      for (const [host, port] of targets.slice(1)) expect(said).toContain(`${host}:${port} shut`)

      const chat = await inside(
        'clerk',
        `curl -s -o /dev/null -w '%{http_code} ' -X POST http://127.0.0.1:8400/chat -d '{}'; ` +
          `curl -s -o /dev/null -w '%{http_code} ' -X POST -H "authorization: Bearer $OPENAI_API_KEY" http://127.0.0.1:8400/chat -d '{}'; ` +
          `curl -s -o /dev/null -w '%{http_code} ' http://127.0.0.1:8400/healthz; ` +
          `curl -s -o /dev/null -w '%{http_code}' -H "authorization: Bearer $OPENAI_API_KEY" http://${gateway}:${agentPort}/mesh/agents`,
      )
      expect(chat).toContain('401 401 200 403')
      for (const [url, code] of [
        [`http://127.0.0.1:${meshPort}/healthz`, 'port-refused'],
        ['http://127.0.0.1/healthz', 'address-refused'],
      ]) {
        const fetched = await mesh.invoke('clerk', 'http_request', { url })
        expect(JSON.stringify(fetched.outcome)).toContain(code)
      }
    })

    it('a fleet in containers runs the official OpenAI client in a container as it is', async () => {
      verifies('purpose:mesh:proxies-llm', 'purpose:agents:use-mesh-proxy')
      const bundle = await build({
        entryPoints: [join(repositoryRoot, 'tests', 'support', 'openai-program.mjs')],
        bundle: true,
        platform: 'node',
        format: 'esm',
        write: false,
        logLevel: 'silent',
      })
      const body = bundle.outputFiles[0]?.contents ?? new Uint8Array()
      const put = await mesh.call(meshHumanEndpoints.fileWrite, {
        params: { id: 'clerk', path: 'client.mjs' },
        body,
      })
      expect(put.status, put.text).toBe(200)
      const said = await inside(
        'clerk',
        'node client.mjs fake/hello plain stream tool models wrongKey otherModel',
        200,
      )
      const seen = JSON.parse(/SEEN (\{.*\})/.exec(said)?.[1] ?? said) as Record<string, unknown>
      expect(seen).toMatchObject({
        plain: { text: 'Hello there' },
        stream: { text: 'Hello there' },
        tool: { finish: expect.any(String) as unknown, calls: [{ function: { name: 'get_weather' } }] },
        models: expect.arrayContaining(['fake/hello', 'fake/tool']) as unknown,
        wrongKey: { name: 'AuthenticationError', status: 401 },
        otherModel: { name: 'PermissionDeniedError', status: 403 },
      })
      expect(new Set(upstream.calls.map((call) => call.headers.authorization))).toEqual(
        new Set([`Bearer ${upstreamKey}`]),
      )
    })

    it('a fleet in containers adopts its containers after a kill -9 while they work, and every run ends once', async () => {
      verifies('authentication:zone-2:containers')
      const before = (await container('clerk').inspect()).Id
      const asked = await mesh.submit('dig', { session: 'dig 1' })
      const beside = await mesh.submit('dig beside', { agent: 'other', session: 'dig 2' })
      await eventually(
        'both dig',
        async () =>
          (await mesh.runs()).filter((run) => run.state === 'running' && run.agent_id !== 'operator')
            .length === 2,
      )
      await mesh.kill9()
      await mesh.restart()
      const [first, second] = [await mesh.ended(asked, 200_000), await mesh.ended(beside, 200_000)]
      expect(first.outcome).toMatchObject({ status: 'done', text: 'Dug: all.' })
      expect(second.outcome).toMatchObject({ status: 'done' })
      expect((await container('clerk').inspect()).Id).toBe(before)
      const ledger = openLedger(mesh.home)
      for (const run of await mesh.runs()) expect([run.id, ledger.endings().get(run.id)]).toEqual([run.id, 1])
      expect(ledger.inbox(asked)).toHaveLength(1)
      ledger.close()
      expect(await inside('clerk', 'cat effects')).toBe('exit code 0\ndig begins\ndig ends\nafter\n')
    })

    it('a run continues in a new container when its container is killed, and its requester gets the result', async () => {
      verifies('purpose:mesh:manages-containers')
      await inside('clerk', 'rm -f effects')
      const before = (await container('clerk').inspect()).Id
      const asked = await mesh.submit('dig', { session: 'dig 3' })
      const child = await eventually('the worker digs', async () =>
        (await mesh.runs()).find((run) => run.parent_id === asked && run.state === 'running'),
      )
      await eventually('the tool runs', async () => {
        const events = await container('clerk').top()
        return JSON.stringify(events.Processes).includes('sleep 4')
      })
      await container('clerk').kill()
      const run = await mesh.ended(asked, 200_000)
      expect(run.outcome).toMatchObject({ status: 'done', text: 'Dug: all.' })
      // The task ends before the turn that worked on it.
      expect(await mesh.ended(child.id)).toMatchObject({ state: 'done', attempt: 2 })
      expect((await container('clerk').inspect()).Id).not.toBe(before)
      // The interrupted command is reported as of unknown outcome, and is not repeated.
      expect(await inside('clerk', 'cat effects')).toBe('exit code 0\ndig begins\nafter\n')
      const ledger = openLedger(mesh.home)
      expect(ledger.inbox(asked)).toHaveLength(1)
      ledger.close()
    })

    it('a trigger fires for an agent whose container was removed, in a new container', async () => {
      verifies('purpose:triggers:survive-container-restart', 'purpose:mesh:runs-cron')
      const { pid } = mesh
      await inside('other', 'rm -f beats')
      const first = await container('other').inspect()
      const made = await mesh.call(cronHumanEndpoints.cronCreate, {
        body: {
          agent: 'other',
          schedule: 'every 5s',
          tool_name: 'run_command',
          tool_params: { command: 'hostname >> beats' },
        },
      })
      expect(made.status, made.text).toBe(200)
      const { id } = made.json() as { id: string }
      const ledger = openLedger(mesh.home)
      onTestFinished(() => ledger.close())
      const rows = () => ledger.rows(`SELECT * FROM cron_rows WHERE job_id = '${id}' ORDER BY due_at`)
      const doneAfter = (dueAt: number) =>
        eventually('a due time has its run', () =>
          rows().find((row) => Number(row['due_at']) > dueAt && row['outcome'] === 'done'),
        )
      const before = await doneAfter(0)
      await container('other').kill()
      const killedAt = Date.now()
      const after = await doneAfter(killedAt)
      expect(after['run_id']).not.toBe(before['run_id'])
      const second = await container('other').inspect()
      expect(second.Id).not.toBe(first.Id)
      expect(mesh.pid).toBe(pid)
      // The cron clock kept running: the due times are five seconds apart without a gap.
      const all = rows()
      for (const [index, row] of all.slice(1).entries()) {
        expect(Number(row['due_at'])).toBe(Number(all[index]?.['due_until']) + 5000)
      }
      await mesh.call(cronHumanEndpoints.cronRemove, { params: { id } })
    })

    it('a fleet in containers stops its containers when it is asked to stop, and finishes their runs in its next life', async () => {
      verifies('purpose:mesh:manages-containers', 'authentication:zone-2:containers')
      await inside('other', 'rm -f effects')
      const asked = await mesh.submit('dig on', { agent: 'other', session: 'dig 4' })
      await eventually('the tool runs', async () =>
        JSON.stringify((await container('other').top()).Processes).includes('sleep 4'),
      )
      expect(await mesh.terminate()).toBe(0)
      const running = await engine.docker.listContainers({
        filters: { label: [`flotilla.home=${homeTag(homeId)}`] },
      })
      expect(running.map(({ Names }) => Names)).toEqual([])
      await mesh.restart()
      expect((await mesh.ended(asked, 200_000)).outcome).toMatchObject({ status: 'done' })
      expect(await inside('other', 'cat effects')).toBe('exit code 0\ndig begins\nafter\n')
    })

    it('a fleet in containers leaves nothing of itself in the engine once its home is reset', async () => {
      await mesh.terminate()
      expect((await mesh.command('reset')).code).toBe(0)
      const label = [`flotilla.home=${homeTag(homeId)}`]
      const [containers, { Volumes: volumes }, networks] = await Promise.all([
        engine.docker.listContainers({ all: true, filters: { label } }),
        engine.docker.listVolumes({ filters: { label } }),
        engine.docker.listNetworks({ filters: { label } }),
      ])
      expect([containers, volumes ?? [], networks]).toEqual([[], [], []])
    })
  },
  found,
)

/** Formats an IPv4 address as the kernel's connection table does. */
function inTable(address: string): string {
  const bytes = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'))
  return bytes.toReversed().join('').toUpperCase()
}

/** A program that searches everything that the worker's user can read for words with these hashes. */
const searchProgram = `
import sys, os, re, json, hashlib
wanted, found, files = set(sys.argv[1:]), {}, 0
word = re.compile(rb'(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])')
def search(content, place):
    for match in word.findall(content):
        digest = hashlib.sha256(match).hexdigest()
        if digest in wanted: found[digest] = place
def look(path):
    global files
    try:
        with open(path, 'rb') as file: content = file.read(4_000_000)
    except OSError: return
    files += 1
    search(content, path)
def look_into_memory(pid):
    # The agent's own process holds the door token; its memory is the shortest way to it.
    try:
        with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', 'rb', 0) as memory:
            for line in maps:
                if ' rw' not in line: continue
                start, end = (int(edge, 16) for edge in line.split()[0].split('-'))
                memory.seek(start)
                search(memory.read(min(end - start, 64_000_000)), f'memory of {pid}')
    except (OSError, ValueError, OverflowError): pass
for pid in filter(str.isdigit, os.listdir('/proc')):
    for name in ('environ', 'cmdline'): look(f'/proc/{pid}/{name}')
    if int(pid) != os.getpid(): look_into_memory(pid)
for root in ('/data', '/briefing', '/tmp', '/run', '/etc', '/opt', '/home', '/root', '/var', '/dev/shm'):
    for folder, _, names in os.walk(root):
        for name in names: look(os.path.join(folder, name))
print(json.dumps({'files': files, 'found': found}))
`

/**
 * Simulates the internet: a server in a separate network that this machine reaches and, without the filter, would
 * forward to. Returns its address.
 */
async function startOutsideServer(docker: Dockerode, image: string): Promise<string> {
  const name = `flotilla-test-outside-${process.pid}`
  const network = await docker.createNetwork({ Name: name })
  const server = await docker.createContainer({
    name,
    Image: image,
    Cmd: ['python3', '-m', 'http.server', '8080', '--directory', '/briefing'],
    HostConfig: { NetworkMode: name },
  })
  onTestFinished(async () => {
    await server.remove({ force: true })
    await network.remove()
  })
  await server.start()
  const address = (await server.inspect()).NetworkSettings.Networks[name]?.IPAddress ?? ''
  await eventually('the server outside answers', () =>
    httpCall({ method: 'GET', url: `http://${address}:8080/` }).then(
      (reply) => reply.status > 0,
      () => false,
    ),
  )
  return address
}

/** Simulates any other port of the host: open on all addresses, so that only a wall stops a container. */
async function listenOnAllAddresses(): Promise<{ port: number; close: () => void }> {
  const server = createServer((socket) => socket.end('canary'))
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}
