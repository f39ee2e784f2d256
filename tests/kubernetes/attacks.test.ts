import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import process from 'node:process'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { isTerminal } from '@flotilla/protocol/run'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openCanary, reaches } from '../../packages/fleet/src/sandbox/hardening/canary.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { exhaustions } from '../support/exhaustion-attacks.ts'
import { startMesh, type MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { attackWords, exhaustionBounds, localAttacks, saidBy } from './attacks.ts'
import { clusterOfThisRun, podsOfAgents } from './cluster-lane.ts'
import { storageClass } from './cluster/controllers.ts'
import { agentImage } from './cluster/images.ts'
import { fabric } from './cluster/layout.ts'
import { giveMeshRights } from './mesh-rights.ts'

/** Attacks that a compromised agent tries from inside its pod. The results are printed as one table at the end. */
const { mesh: asMesh, nodes, api } = clusterOfThisRun()
const secret = 'what-only-the-other-knows'
const table: (readonly [string, string])[] = []
const note = (attempt: string, came: string): void => void table.push([attempt, came])

let mesh: MeshProcess
let canary: Awaited<ReturnType<typeof openCanary>>
let metadata: Server

beforeAll(async () => {
  await giveMeshRights()
  canary = await openCanary()
  metadata = createServer((socket) => socket.on('error', () => undefined).end())
  metadata.listen(80, fabric.metadata)
  await once(metadata, 'listening')
  mesh = await startMesh({
    runtime: 'kubernetes',
    cassettes: { idle: aCassette({ when: 'nothing', turns: [says('Nothing.')] }) },
    settings: { data_limit_mb: 128, restarts_per_hour: 1_000 },
    environment: {
      KUBECONFIG: asMesh.kubeconfig,
      FLOTILLA_KUBERNETES_IMAGE: agentImage,
      FLOTILLA_KUBERNETES_STORAGE_CLASS: storageClass,
    },
  })
  for (const id of ['digger', 'other']) await mesh.createWorker(id)
  await attack(`echo ${secret} > /data/secret; cat /data/secret`, 'other')
}, patient(300_000))

afterAll(async () => {
  const rows = table.map(([attempt, came]) => `| ${attempt} | ${came} |`)
  process.stdout.write(`\n| attempt from inside a pod | came to |\n| --- | --- |\n${rows.join('\n')}\n`)
  await mesh?.stop()
  await canary?.close()
  metadata?.close()
}, patient(120_000))

async function say(agent: string, command: string) {
  const run = await mesh.invoke(agent, 'run_command', { command, timeout_s: 120 })
  const { result } = run.outcome ?? {}
  return { run, text: typeof result === 'string' ? result : JSON.stringify(run.outcome) }
}

const attack = async (command: string, agent = 'digger') => (await say(agent, command)).text

it(
  'a program in a pod reaches nothing but its own agent API, whatever listens elsewhere',
  async () => {
    const other = (await podsOfAgents(api, 'flotilla')).find(({ agent }) => agent === 'other')
    const at = (what: string, host: string, port: number) => ({ what, host, port })
    const targets = [
      at('a canary on the machine of the mesh', fabric.address, canary.port),
      at('the API server', fabric.address, fabric.apiPort),
      ...nodes.map(({ name, address }) => at(`the kubelet of ${name}`, address, 10_250)),
      at('another agent', other?.address ?? '', 8_400),
      at('the internet', fabric.internet, canary.port),
      at('metadata', fabric.metadata, 80),
    ]
    const shown = await Promise.all(targets.map(({ host, port }) => reaches(host, port)))
    expect(targets.filter((_, index) => !shown[index])).toEqual([])
    // A Service address exists only in the cluster's network; the API server behind it was reached above.
    const all = [...targets, at('the Service of the API server', fabric.apiService, 443)]
    const door = at('the agent door', fabric.address, 8_420)
    const said = await attack(connects([...all, door]))
    for (const { what, host, port } of all) {
      const came = new RegExp(`^${host}:${port} (.*)$`, 'm').exec(said)?.[1] ?? 'no word'
      note(`connect to ${what}`, came)
      expect.soft(`${what}: ${came}`).toMatch(/: (?:timed out|\[Errno (?:101|111|113)\])/)
    }
    expect(said).toContain(`${door.host}:${door.port} connected`)
  },
  patient(240_000),
)

it(
  'a program in a pod is refused by the proxy what it cannot reach itself',
  async () => {
    const urls = [
      `https://${fabric.address}:${fabric.apiPort}/`,
      `https://${fabric.apiService}/`,
      `http://${fabric.metadata}/latest/meta-data/`,
      `https://${nodes[0]?.address}:10250/pods`,
      `http://127.0.0.1:${canary.port}/`,
    ]
    for (const url of urls) {
      const said = await attack(
        `curl -sk --noproxy '' -o /dev/null -w '%{http_code} %{http_connect}' --max-time 20 ${url}`,
      )
      note(`${url} through the proxy`, said.trim().split('\n').at(-1) ?? '')
      expect.soft(`${url} ${said}`).toMatch(/\b40[03]\b/)
    }
  },
  patient(240_000),
)

it.each(localAttacks)(
  '$what: held',
  async ({ what, command, held }) => {
    const text = saidBy(await attack(command))
    note(what, attackWords(text))
    expect(text).toMatch(held)
  },
  patient(180_000),
)

it(
  'a program in a pod finds nothing of another agent on any of its disks',
  async () => {
    const text = await attack(
      `grep -rsl ${secret} /data /tmp /briefing /once /etc /var /run /dev/shm /sys/fs 2>/dev/null; ls /dev | tr '\\n' ' '; ls /proc/*/root/data/secret 2>&1 | tail -1; echo over`,
    )
    note('read what another agent keeps', attackWords(text))
    expect(text).not.toContain('secret\n')
    expect(text).not.toMatch(/\b(?:sd|vd|loop|nvme|dm-)\w*/)
    expect(await attack('cat /data/secret', 'other')).toContain(secret)
  },
  patient(180_000),
)

it.each(exhaustions)(
  'a program in a pod takes all it can, and the mesh and others work on: $what',
  async ({ what, command, bound }) => {
    const over = new AbortController()
    const taking = say('digger', command).finally(() => over.abort())
    taking.catch(() => undefined)
    let others = 0
    do {
      const ready = await mesh.call(meshHumanEndpoints.readyz, { timeoutMs: patient(60_000) })
      expect(ready.status, ready.text).toBe(200)
      expect((await say('other', 'echo at-work')).text).toContain('at-work')
      others += 1
    } while (!over.signal.aborted)
    const { run, text } = await taking
    note(`take all of: ${what}`, `${run.state}; ${attackWords(text)}; the other worked ${others} times`)
    expect(isTerminal(run.state)).toBe(true)
    const expected = exhaustionBounds.get(what) ?? bound
    if (run.state === 'done' && expected !== null) expect(text).toMatch(expected)
    else expect(run.outcome?.text ?? '', JSON.stringify(run)).not.toBe('')
    const works = async () => (await attack('echo back-again').catch(() => '')).includes('back-again')
    await eventually('the attacker works again', works, patient(60_000))
  },
  patient(300_000),
)

function connects(targets: readonly { readonly host: string; readonly port: number }[]): string {
  const pairs = JSON.stringify(targets.map(({ host, port }) => [host, port]))
  return `python3 - <<'END'
import socket
from concurrent.futures import ThreadPoolExecutor
def attempt(target):
    try:
        socket.create_connection(tuple(target), 5); return 'connected'
    except Exception as e: return str(e)
targets = ${pairs}
with ThreadPoolExecutor(16) as pool:
    for target, came in zip(targets, pool.map(attempt, targets)): print('%s:%d %s' % (*target, came))
END`
}
