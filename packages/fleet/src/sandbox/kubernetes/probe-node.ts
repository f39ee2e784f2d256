import type { CoreV1Api } from '@kubernetes/client-node'
import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import { reaches } from '../hardening/canary.ts'
import { probeReportSchema, type ProbeReport } from '../hardening/isolation-report.ts'
import { SandboxError } from '../sandbox-error.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import { nodesNeed, probePod, type PodGround } from './agent-objects.ts'
import type { AgentNode } from './cluster-nodes.ts'
import { refusalStatus, unlessRefused } from './connect-cluster.ts'
import { hasEnded, startFailure, waitsFor, type Pod } from './pod-state.ts'
import { PodWaitOver, type PodWatch } from './pod-watch.ts'

/** How long the isolation check of a node waits for its pod to reach a state, in milliseconds. */
const probeMaxMs = 120_000
/** Attempts on one node that still accepts agents: the node may have restarted, or the probe's pod been deleted. */
const probesMax = 3
/** How often the mesh checks, while it waits for a pod, that the node still accepts agents, milliseconds. */
const nodeAskMs = 5_000
/** How long an isolation check waits until the second pod listens, in milliseconds. */
const siblingReadyMs = 30_000
/** The pause between two checks whether the second pod of an isolation check listens, in milliseconds. */
const siblingAskMs = 100
/** The maximum size of the report of an isolation check, in bytes; a report has some kilobytes. */
const reportMaxBytes = 256 * 1024
/** How often the mesh tries to delete a throw-away pod if the cluster is silent; the next start deletes the rest. */
const removalsMax = 3
/** The pause before the mesh tries again to delete a pod of the isolation check, in milliseconds. */
const removeAgainMs = 5_000
/** Timeout of one request to the cluster. */
const answerMaxMs = 15_000
/** From this HTTP status on, the server may have carried out the request in spite of the error. */
const unknownFrom = 500

/** The operations of a cluster that a throw-away pod needs. */
export interface ProbedCluster {
  readonly cluster: {
    readonly core: Pick<CoreV1Api, 'createNamespacedPod' | 'deleteNamespacedPod' | 'readNamespacedPodLog'>
  }
  readonly ground: PodGround
  readonly watch: Pick<PodWatch, 'reaches'>
}

export interface ProbeOptions {
  /** The nodes that take agents now. */
  readonly nodesNow: () => Promise<readonly AgentNode[]>
  readonly newName: () => string
  readonly clock: Clock
  readonly log: Log
  readonly signal?: AbortSignal | undefined
}

/** A larger processor share than an agent's: isolation does not depend on the share, and the owner waits. */
const probeSize = {
  memoryLimitBytes: sandboxSizes.worker.memoryLimitBytes,
  cpu: { quotaUs: 50_000, periodUs: 100_000 },
}

/**
 * Network policies reach a pod with a short delay. Until the pod can reach the mesh, the pod reaches nothing, and a
 * test would report the mesh as unreachable too, so the script waits first.
 */
const probeOnceMeshAnswers = `
const plan = JSON.parse(process.argv[1])
const mesh = plan.connect[0]
const start = () => { process.argv[2] = process.argv[1]; require('/opt/flotilla/probe-walls.cjs') }
const left = { tries: 100 }
const attempt = () => {
  const socket = require('node:net').connect(mesh.port, mesh.host)
  const again = () => { socket.destroy(); left.tries-- > 0 ? setTimeout(attempt, 100) : start() }
  socket.setTimeout(500, again)
  socket.on('error', again)
  socket.on('connect', () => { socket.destroy(); start() })
}
attempt()`

/**
 * Returns the probe's report on a node; null if the node was lost during the probe, so that no agent is scheduled on
 * it. A node that accepts agents but runs no probe is not lost: rejects with `SandboxError` `wall-probe-failed`.
 */
export async function probeNode(
  to: ProbedCluster,
  { node, plan }: { readonly node: AgentNode; readonly plan: string },
  options: ProbeOptions,
): Promise<ProbeReport | null> {
  const command = ['node', '--eval', probeOnceMeshAnswers, plan]
  const runsProbe = (pod: Pod): boolean => hasEnded(pod) || startFailure(pod) !== null
  const { namespace } = to.ground
  let why = ''
  for (let attempt = 0; attempt < probesMax; attempt++) {
    const reportOf = async (pod: Pod | null) => {
      if (pod?.status?.phase !== 'Succeeded') return null
      const logRequest = { namespace, name: pod.metadata.name, limitBytes: reportMaxBytes }
      const log = await answered(to.cluster.core.readNamespacedPodLog(logRequest), options).catch(() => '')
      return readReport(log)
    }
    const found = await withThrowAway(to, { node, command, holds: runsProbe, work: reportOf }, options)
    if (found.kind === 'lost') return null
    if (found.result !== null) return found.result
    why = found.pod === null ? 'the probe pod no longer exists' : waitsFor(found.pod)
    // A permanent failure is not retried.
    if (found.pod !== null && startFailure(found.pod) !== null) break
  }
  throw new SandboxError(
    'wall-probe-failed',
    `The isolation check failed to run on node ${node.name}: ${why}\nRepair: ${nodesNeed(to.ground)}; kubectl --namespace ${namespace} get events shows the reason.`,
  )
}

/** Parses the probe's report; null if it is invalid, for example because the node has not written all of it yet. */
function readReport(log: string): ProbeReport | null {
  try {
    return probeReportSchema.safeParse(JSON.parse(log)).data ?? null
  } catch {
    return null
  }
}

/** Starts a second pod, on the first node where the mesh can reach the pod, and keeps it while `work` runs. */
export async function withSibling<Result>(
  to: ProbedCluster,
  options: ProbeOptions & { readonly nodes: readonly AgentNode[] },
  work: (address: string) => Promise<Result>,
): Promise<Result> {
  const port = sandboxHardening.agentPort
  const listener = `require('node:net').createServer((s) => s.end()).listen(${port}, '0.0.0.0')`
  const command = ['node', '--eval', listener]
  const holds = (pod: Pod): boolean => Boolean(pod.status?.podIP) || hasEnded(pod)
  const { clock, signal } = options
  for (const node of options.nodes) {
    const workWith = async (pod: Pod | null) => {
      const host = pod?.status?.podIP ?? ''
      if (pod === null || hasEnded(pod) || host === '') return null
      const deadline = clock.now() + siblingReadyMs
      while (!(await reaches(host, port))) {
        // A pod that this machine cannot reach is no test target; a pod on another node may be reachable.
        if (clock.now() >= deadline) return null
        await clock.sleep(siblingAskMs, signal)
      }
      return { done: await work(host) }
    }
    const tried = await withThrowAway(to, { node, command, holds, work: workWith }, options)
    if (tried.kind === 'seen' && tried.result !== null) return tried.result.done
  }
  throw new SandboxError(
    'wall-probe-failed',
    `The isolation check needs a second pod that the mesh can reach, and no node runs one.\nRepair: ${nodesNeed(to.ground)}; kubectl --namespace ${to.ground.namespace} get events shows the reason.`,
  )
}

type Tried<Result> =
  | { readonly kind: 'lost' }
  | { readonly kind: 'seen'; readonly pod: Pod | null; readonly result: Result }

/** Creates a pod on a node, waits until `holds` is true or the time is over, runs `work`, and removes the pod. */
async function withThrowAway<Result>(
  to: ProbedCluster,
  what: {
    readonly node: AgentNode
    readonly command: readonly string[]
    readonly holds: (pod: Pod) => boolean
    readonly work: (pod: Pod | null) => Promise<Result>
  },
  options: ProbeOptions,
): Promise<Tried<Result>> {
  const { cluster, ground, watch } = to
  const { node, command, holds, work } = what
  const { namespace } = ground
  const name = options.newName()
  const body = probePod(ground, { name, node: node.name, command, size: probeSize })
  await answered(cluster.core.createNamespacedPod({ namespace, body }), options).catch(
    async (error: unknown) => {
      // The server may have created the pod although its answer was lost, so the pod is deleted.
      if ((refusalStatus(error) ?? unknownFrom) >= unknownFrom) await takeAway(to, name, options)
      throw error
    },
  )
  const over = new AbortController()
  try {
    const signal = options.signal ? AbortSignal.any([over.signal, options.signal]) : over.signal
    const waiting = watch.reaches(name, (pod) => pod !== null && holds(pod), { ms: probeMaxMs, signal })
    const losing = untilLost(node, options, signal)
    const seen = await Promise.race([
      waiting.then(
        (pod) => ({ pod }),
        (error: unknown) => {
          if (error instanceof PodWaitOver) return { pod: error.last }
          throw error
        },
      ),
      losing.then(() => null),
    ])
    if (seen === null || !(await takesAgents(node, options))) return { kind: 'lost' }
    return { kind: 'seen', pod: seen.pod, result: await work(seen.pod) }
  } finally {
    over.abort()
    await takeAway(to, name, options)
  }
}

/** Deletes a throw-away pod. Never rejects: the report matters more, and the next start deletes the pod. */
async function takeAway(
  { cluster, ground }: ProbedCluster,
  name: string,
  options: ProbeOptions,
): Promise<void> {
  const { namespace } = ground
  for (let attempt = 1; ; attempt++) {
    try {
      // Deleted without a grace period: the pod has no data to save, and a lost node would never confirm its end.
      const removal = cluster.core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 })
      await answered(removal, options).catch(unlessRefused([404], null))
      return
    } catch (err) {
      if (attempt >= removalsMax || options.signal?.aborted) {
        options.log.warn(
          { pod: name, namespace, err },
          'failed to delete a probe pod; the next start of the mesh deletes it',
        )
        return
      }
      await options.clock.sleep(removeAgainMs, options.signal).catch(() => undefined)
    }
  }
}

/** Resolves with the answer to a request; rejects if the API server does not answer within `answerMaxMs`. */
async function answered<Answer>(
  request: Promise<Answer>,
  { clock }: Pick<ProbeOptions, 'clock'>,
): Promise<Answer> {
  const over = new AbortController()
  const silence = clock.sleep(answerMaxMs, over.signal).then(
    () => {
      throw new Error(`the API server did not answer for ${answerMaxMs / 1_000} s`)
    },
    () => request,
  )
  try {
    return await Promise.race([request, silence])
  } finally {
    over.abort()
  }
}

async function takesAgents({ name }: AgentNode, options: ProbeOptions): Promise<boolean> {
  return (await answered(options.nodesNow(), options)).some((node) => node.name === name)
}

/** Resolves once the node accepts no more agents; never resolves if the signal aborts before that. */
async function untilLost(node: AgentNode, options: ProbeOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await options.clock.sleep(nodeAskMs, signal).catch(() => undefined)
    if (signal.aborted) break
    if (!(await takesAgents(node, options).catch(() => true))) return
  }
  await new Promise<never>(() => undefined)
}
