import { once } from 'node:events'
import { createServer } from 'node:net'
import process from 'node:process'
import type { CoreV1Api, V1Pod } from '@kubernetes/client-node'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { heldPlace } from '../../../../testing/src/held-place.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../../foundation/src/platform/index.ts'
import type { ProbeReport } from '../hardening/isolation-report.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import { checkCluster } from './check-cluster.ts'
import type { AgentNode } from './cluster-nodes.ts'
import { podSchema } from './pod-state.ts'
import { probeNode } from './probe-node.ts'
import { watchPods } from './pod-watch.ts'

const ground = {
  homeId: 'home-1',
  namespace: 'fleet',
  image: 'registry.example/agent:1',
  meshAddress: '127.0.0.1',
  ownAddress: '127.0.0.1',
  seccomp: { kind: 'localhost', path: 'flotilla.json' },
  userNamespaces: true,
} as const
const aNode = (name: string): AgentNode => ({ name, addresses: [], podRanges: [], userNamespaces: true })

interface Order {
  readonly node: string
  readonly command: readonly string[]
}

/** The status of a throw-away pod on its node, and the output of its program. */
interface Fate {
  readonly status: NonNullable<V1Pod['status']>
  readonly log?: string
}

const prints = (log: string): Fate => ({ status: { phase: 'Succeeded' }, log })
const waits: Fate = { status: { phase: 'Pending' } }
const unscheduled = {
  type: 'PodScheduled',
  status: 'False',
  reason: 'Unschedulable',
  message: 'too many pods',
}
const nowhere: Fate = { status: { phase: 'Pending', conditions: [unscheduled] } }
const turnedAway: Fate = { status: { phase: 'Failed', reason: 'OutOfpods', message: 'no room for more' } }

/** A fake API server that stores pods below the real watch; `fate` decides what nodes do with each. */
async function aCluster(names: readonly string[], fate: (order: Order) => Fate) {
  const clock = createManualClock()
  const stopping = new AbortController()
  const state = {
    nodes: names.map(aNode),
    made: 0,
    removals: [] as (number | undefined)[],
    /** Number of removals that get no answer. */
    silences: 0,
    /** Number of removals whose connection breaks. */
    refusals: 0,
    loses: null as Error | null,
  }
  const warned: unknown[] = []
  const there = new Map<string, { readonly pod: V1Pod; readonly log: string }>()
  let tellWatch = (_type: string, _pod: V1Pod): void => undefined

  function takeOff(name: string): void {
    const found = there.get(name)
    if (found === undefined) throw Object.assign(new Error('not found'), { code: 404 })
    there.delete(name)
    tellWatch('DELETED', found.pod)
  }

  const core: Pick<
    CoreV1Api,
    'createNamespacedPod' | 'deleteNamespacedPod' | 'readNamespacedPodLog' | 'listNamespacedPod'
  > = {
    async createNamespacedPod({ body }) {
      const name = body.metadata?.name ?? ''
      state.made += 1
      const node = body.spec?.nodeName ?? ''
      const metadata = { name, uid: `uid-of-${name}`, resourceVersion: String(state.made) }
      const podWith = (status: Fate['status']): V1Pod => ({
        metadata,
        spec: { nodeName: node, containers: [] },
        status,
      })
      there.set(name, { pod: podWith({ phase: 'Pending' }), log: '' })
      setImmediate(() => {
        const { status, log = '' } = fate({ node, command: body.spec?.containers[0]?.command ?? [] })
        if (!there.has(name)) return
        there.set(name, { pod: podWith(status), log })
        tellWatch('MODIFIED', podWith(status))
      })
      if (state.loses !== null) throw state.loses
      return body
    },
    async deleteNamespacedPod({ name, gracePeriodSeconds }) {
      state.removals.push(gracePeriodSeconds)
      if (state.silences-- > 0) return new Promise(() => undefined)
      if (state.refusals-- > 0) throw new Error('the connection was lost')
      takeOff(name)
      return {}
    },
    readNamespacedPodLog: async ({ name }) => there.get(name)?.log ?? '',
    listNamespacedPod: async () => ({ items: [], metadata: { resourceVersion: '0' } }),
  }
  const cluster = {
    core,
    url: new URL('https://127.0.0.1:1'),
    readPod: async (_namespace: string, name: string) => {
      const found = there.get(name)
      return found === undefined ? null : podSchema.parse(found.pod)
    },
    follow: async (
      _namespace: string,
      _query: object,
      handlers: { readonly onChange: (type: string, object: unknown) => void; readonly signal: AbortSignal },
    ) => {
      tellWatch = handlers.onChange
      if (!handlers.signal.aborted) await once(handlers.signal, 'abort')
    },
  }
  const silent = () => undefined
  const watch = await watchPods({
    cluster,
    namespace: 'fleet',
    labelSelector: '',
    clock,
    log: silentLog,
    onPod: silent,
    onGone: silent,
    onBack: silent,
  })
  onTestFinished(() => watch.close())
  return {
    to: { cluster, ground, watch },
    clock,
    state,
    takeOff,
    stop: () => stopping.abort(new Error('the mesh stops')),
    left: () => [...there.keys()],
    /** The pods that were reported as left behind. */
    warned,
    options: {
      nodesNow: async () => state.nodes,
      newName: () => `probe-${state.made + 1}`,
      clock,
      log: { ...silentLog, warn: ({ pod }: Readonly<Record<string, unknown>>) => void warned.push(pod) },
      signal: stopping.signal,
    },
  }
}

const plan = JSON.stringify({
  connect: [{ group: 'mesh', host: '127.0.0.1', port: 8420 }],
  names: ['example.com'],
})

/**
 * The probe's output if every wall holds, for the plan that it received; `outcomes` replaces those of
 * groups.
 */
function aReport(
  { command }: Pick<Order, 'command'>,
  changes: Partial<ProbeReport> = {},
  outcomes: Readonly<Record<string, string>> = {},
): ProbeReport {
  const { connect, names }: { connect: { group: string; host: string; port: number }[]; names: string[] } =
    JSON.parse(command.at(-1) ?? '')
  const came = { mesh: 'connected', names: 'ETIMEOUT', ...outcomes }
  const tried = [
    ...connect.map(({ group, host, port }) => ({ group, target: `${host}:${port}` })),
    ...names.map((target) => ({ group: 'names', target })),
  ]
  return {
    attempts: tried.map((one) => ({
      ...one,
      outcome: new Map(Object.entries(came)).get(one.group) ?? 'timeout',
    })),
    ...heldPlace,
    ...changes,
  }
}

const printsReport = (...of: Parameters<typeof aReport>): Fate =>
  prints(`${JSON.stringify(aReport(...of))}\n`)

async function probing(fate: (order: Order) => Fate) {
  const cluster = await aCluster(['one', 'two'], fate)
  const [node = aNode('')] = cluster.state.nodes
  const startedAt = cluster.clock.now()
  const end = { ms: null as number | null }
  const probed = probeNode(cluster.to, { node, plan }, cluster.options)
  const over = () => {
    end.ms = cluster.clock.now() - startedAt
  }
  probed.then(over, over)
  return { ...cluster, probed, end }
}

describe('the probe of a node', () => {
  it('the probe of a node gives the report, and its pod is deleted without a grace period', async () => {
    const { probed, left, state } = await probing((order) => printsReport(order))
    expect(await probed).toEqual(aReport({ command: [plan] }))
    expect([left(), state.made, state.removals]).toEqual([[], 1, [0]])
  })

  it('the probe of a node fails in the words of a node that is full and turns it away each time', async () => {
    const { probed, left, state, end } = await probing(() => turnedAway)
    await expect(probed).rejects.toMatchObject({
      id: 'wall-probe-failed',
      message: expect.stringMatching(/on node one: OutOfpods no room for more\nRepair: /),
    })
    expect([left(), state.made, end.ms]).toEqual([[], 3, 0])
  })

  it('the probe of a node is tried again where it was turned away once', async () => {
    const fates = [turnedAway]
    const { probed, left } = await probing((order) => fates.shift() ?? printsReport(order))
    expect(await probed).not.toBeNull()
    expect(left()).toEqual([])
  })

  it('the probe of a node waits two minutes at most for a place, three times', async () => {
    const { probed, left, state, clock, end } = await probing(() => nowhere)
    probed.catch(() => undefined)
    await clock.advance(3 * 120_000 - 1)
    expect([state.made, end.ms]).toEqual([3, null])
    await clock.advance(1)
    await expect(probed).rejects.toMatchObject({
      id: 'wall-probe-failed',
      message: expect.stringMatching(/Unschedulable too many pods/),
    })
    expect([left(), end.ms, clock.sleepers()]).toEqual([[], 360_000, 0])
  })

  it('the probe of a node is not tried again for want of its image', async () => {
    const state = { waiting: { reason: 'ErrImagePull', message: 'no such image' } }
    const statuses = [{ name: 'probe', state, image: '', imageID: '', ready: false, restartCount: 0 }]
    const cluster = await probing(() => ({ status: { phase: 'Pending', containerStatuses: statuses } }))
    await expect(cluster.probed).rejects.toThrow(/ErrImagePull/)
    expect([cluster.left(), cluster.state.made]).toEqual([[], 1])
  })

  it.each([
    ['half of its report', '{"attempts":['],
    ['nothing', ''],
    ['something else', '{"attempts":"all"}'],
  ])('the probe of a node that printed %s gives no report', async (_what, log) => {
    const { probed, left, state } = await probing(() => prints(log))
    await expect(probed).rejects.toMatchObject({ id: 'wall-probe-failed' })
    expect([left(), state.made]).toEqual([[], 3])
  })

  it('the probe of a node finds nothing where its node is lost meanwhile, and its pod is taken off the books', async () => {
    const { probed, left, state, clock, end } = await probing(() => waits)
    await clock.advance(60_000)
    state.nodes = [aNode('two')]
    await clock.advance(5_000)
    expect(await probed).toBeNull()
    expect([left(), state.made, state.removals, end.ms]).toEqual([[], 1, [0], 65_000])
  })

  it('the probe of a node believes nothing of a node that was lost as it ended', async () => {
    const cluster = await probing((order) => {
      cluster.state.nodes = []
      return printsReport(order)
    })
    expect(await cluster.probed).toBeNull()
    expect(cluster.left()).toEqual([])
  })

  it('the probe of a node is tried again if its pod was deleted by another client', async () => {
    const fates = [waits]
    const { probed, left, takeOff, clock, state } = await probing(
      (order) => fates.shift() ?? printsReport(order),
    )
    await clock.settle()
    takeOff('probe-1')
    await clock.advance(120_000)
    expect(await probed).not.toBeNull()
    expect([left(), state.made]).toEqual([[], 2])
  })

  it('the probe of a node is taken away where the mesh stops', async () => {
    const { probed, left, stop, clock } = await probing(() => waits)
    probed.catch(() => undefined)
    await clock.settle()
    stop()
    await expect(probed).rejects.toThrow('the mesh stops')
    expect([left(), clock.sleepers()]).toEqual([[], 0])
  })

  it('the probe of a node is taken away once a cluster answers again, which is asked three times', async () => {
    const { probed, left, state, warned, clock, end } = await probing((order) => printsReport(order))
    state.refusals = 2
    await clock.advance(10_000)
    expect(await probed).not.toBeNull()
    expect([left(), state.removals.length, end.ms, warned]).toEqual([[], 3, 10_000, []])
  })

  it('the probe of a node is taken away once a cluster answers again that kept silent', async () => {
    const { probed, left, state, warned, clock, end } = await probing((order) => printsReport(order))
    state.silences = 2
    await clock.advance(15_000 + 5_000 + 15_000 + 5_000)
    expect(await probed).not.toBeNull()
    expect([left(), state.removals.length, end.ms, warned, clock.sleepers()]).toEqual([[], 3, 40_000, [], 0])
  })

  it('the probe of a node is reported as left behind if the cluster does not answer, and its report still counts', async () => {
    const { probed, left, state, warned, clock } = await probing((order) => printsReport(order))
    state.silences = Infinity
    await clock.advance(3 * 15_000 + 2 * 5_000)
    expect(await probed).toEqual(aReport({ command: [plan] }))
    expect([left(), state.removals.length, warned]).toEqual([['probe-1'], 3, ['probe-1']])
    expect(clock.sleepers()).toBe(0)
  })

  it('the probe of a node fails in words of its own with what to do where it could not be taken away either', async () => {
    const { probed, state, warned, clock } = await probing(() => turnedAway)
    state.refusals = Infinity
    probed.catch(() => undefined)
    await clock.advance(3 * 10_000)
    await expect(probed).rejects.toThrow(/on node one: OutOfpods[^]*\nRepair: /)
    expect(warned).toEqual(['probe-1', 'probe-2', 'probe-3'])
  })
})

describe('a probe pod that was created without a confirmed answer', () => {
  const ofServer = (code: number) => Object.assign(new Error(`HTTP ${code}`), { code })

  it.each([
    ['the connection was lost', new Error('the answer was lost')],
    ['its database did not answer the server', ofServer(500)],
    ['a balancer gave up', ofServer(504)],
  ])(
    'a probe pod that was created without a confirmed answer is taken away where %s',
    async (_what, error) => {
      const cluster = await aCluster(['one'], () => waits)
      cluster.state.loses = error
      const probed = probeNode(cluster.to, { node: aNode('one'), plan }, cluster.options)
      await expect(probed).rejects.toBe(error)
      expect([cluster.state.made, cluster.left()]).toEqual([1, []])
    },
  )

  it('a probe pod that was created without a confirmed answer is not looked for where the cluster refused to make it', async () => {
    const cluster = await aCluster(['one'], () => waits)
    const refusal = ofServer(403)
    cluster.state.loses = refusal
    await expect(probeNode(cluster.to, { node: aNode('one'), plan }, cluster.options)).rejects.toBe(refusal)
    expect(cluster.state.removals).toEqual([])
  })
})

/** A server that plays a test pod and is reachable from this process. */
async function aNeighbor(): Promise<string> {
  const host = `127.77.${process.pid % 250}.${Math.floor(process.pid / 250) % 250}`
  const server = createServer((socket) => socket.end()).listen(sandboxHardening.agentPort, host)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return host
}

async function checking(names: readonly string[], fate: (order: Order) => Fate) {
  const podIP = await aNeighbor()
  const neighbor: Fate = { status: { phase: 'Running', podIP } }
  const isNeighbor = ({ command }: Order) => command.some((word) => word.includes('createServer'))
  const cluster = await aCluster(names, (order) => (isNeighbor(order) ? neighbor : fate(order)))
  return { ...cluster, checked: checkCluster(cluster.to, { ...cluster.options, meshPort: 8420 }) }
}

type Breach = readonly [Partial<ProbeReport>, Readonly<Record<string, string>>]

/** For each wall, the probe's findings if only that wall fails. */
const breaches: Readonly<Record<string, Breach>> = {
  'agent-door-open': [{}, { mesh: 'timeout' }],
  'host-ports-closed': [{}, { host: 'connected' }],
  'other-sandboxes-closed': [{}, { sibling: 'connected' }],
  'internet-closed': [{}, { internet: 'ECONNREFUSED' }],
  'metadata-closed': [{}, { metadata: 'connected' }],
  'names-closed': [{}, { names: 'ENOTFOUND' }],
  'ipv6-closed': [{ addresses: ['127.0.0.1', 'fd00::1'] }, {}],
  'root-read-only': [{ writeRoot: 'done' }, {}],
  'message-queues-closed': [{ makeMessageQueue: 'done' }, {}],
  'tmp-not-executable': [{ execInTmp: 'done' }, {}],
  'processes-bounded': [{ processes: { started: 300, said: '' } }, {}],
  'no-new-namespaces': [{ userNamespace: 'done' }, {}],
  'no-privileges': [{ status: { ...aReport({ command: [plan] }).status, CapEff: '1' } }, {}],
  'engine-socket-absent': [{ engineSocket: 'containerd' }, {}],
  'open-files-bounded': [{ openFilesMax: '1048576' }, {}],
}

describe('the walls of a cluster', () => {
  it('the walls of a cluster hold where they hold on each node, and nothing of the check stays', async () => {
    const { checked, left } = await checking(['one', 'two'], (order) => printsReport(order))
    const { walls, triedNodes, lostNodes } = await checked
    expect(walls.map(({ id, holds }) => [id, holds])).toEqual(Object.keys(breaches).map((id) => [id, true]))
    expect([triedNodes, lostNodes, left()]).toEqual([['one', 'two'], [], []])
  })

  it.each(Object.entries(breaches))(
    'the walls of a cluster fall by name where %s does not hold on one node',
    async (id, breach) => {
      const { checked, left } = await checking(['one', 'two'], (order) =>
        order.node === 'two' ? printsReport(order, ...breach) : printsReport(order),
      )
      const { walls } = await checked
      const fallen = walls.filter(({ holds }) => !holds)
      expect(fallen.map((wall) => wall.id)).toEqual([id])
      expect(fallen[0]?.detail).toMatch(/^two: /)
      expect(left()).toEqual([])
    },
  )

  it('the walls of a cluster leave a node out that dies while they are tried', async () => {
    const { checked, left, state, clock } = await checking(['one', 'two'], (order) =>
      order.node === 'two' ? waits : printsReport(order),
    )
    // The neighbor, and a probe on each.
    await vi.waitFor(() => expect([state.made, left().length]).toEqual([3, 2]))
    state.nodes = [aNode('one')]
    await clock.advance(5_000)
    const { walls, triedNodes, lostNodes } = await checked
    expect(walls.filter(({ holds }) => !holds)).toEqual([])
    expect([triedNodes, lostNodes, left()]).toEqual([['one'], ['two'], []])
  })

  it('the walls of a cluster do not count as holding if every node was lost', async () => {
    const { checked, left, state, clock } = await checking(['one'], () => waits)
    checked.catch(() => undefined)
    await vi.waitFor(() => expect(state.made).toBe(2))
    state.nodes = []
    await clock.advance(5_000)
    await expect(checked).rejects.toMatchObject({ id: 'no-node' })
    expect(left()).toEqual([])
  })

  it('the walls of a cluster do not count as holding if a node is full and the neighbor is deleted too', async () => {
    const { checked, left } = await checking(['one', 'two'], (order) =>
      order.node === 'two' ? turnedAway : printsReport(order),
    )
    await expect(checked).rejects.toThrow(/on node two: OutOfpods/)
    expect(left()).toEqual([])
  })
})
