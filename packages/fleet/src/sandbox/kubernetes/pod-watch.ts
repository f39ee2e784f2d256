import type { CoreV1Api } from '@kubernetes/client-node'
import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import type { Cluster } from './connect-cluster.ts'
import * as z from 'zod'
import { podSchema, type Pod } from './pod-state.ts'

const versionedSchema = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) })

/**
 * The server ends a watch after this time, seconds, and reports the version from which the next watch continues. The
 * client treats a server that sends nothing for 30 s as lost.
 */
const watchSeconds = 25
/** Pods per page of a list; all pages have the same resource version. */
const listedAtOnce = 250
/** The first pause before a failed watch of pods is repeated, in milliseconds; each next one is doubled. */
const againFirstMs = 200
/** The longest pause before a failed watch of pods is repeated, in milliseconds. */
const againMaxMs = 10_000

export interface PodWatch {
  /** The last known state of each pod, by name. */
  known(): ReadonlyMap<string, Pod>
  /**
   * Resolves once `holds` is true for the pod of that name (null: the pod does not exist). Asks the cluster first, so
   * that no older state is used. Rejects after `bound.ms`, with the last state seen.
   */
  reaches(name: string, holds: (pod: Pod | null) => boolean, bound: PodBound): Promise<Pod | null>
  close(): Promise<void>
}

export interface PodBound {
  readonly ms: number
  readonly signal?: AbortSignal | undefined
}

/** A wait reached its time limit. */
export class PodWaitOver extends Error {
  override readonly name = 'PodWaitOver'
  readonly last: Pod | null

  constructor(last: Pod | null) {
    super('the pod did not reach the expected state in time')
    this.last = last
  }
}

export interface PodWatchOptions {
  readonly cluster: Pick<Cluster, 'follow' | 'readPod'> & {
    readonly core: Pick<CoreV1Api, 'listNamespacedPod'>
  }
  readonly namespace: string
  readonly labelSelector: string
  readonly clock: Clock
  readonly log: Log
  /** Called with every changed pod. */
  readonly onPod: (pod: Pod) => void
  readonly onGone: (pod: Pod) => void
  /** Called when the cluster answers again after it did not; not called for the first answer. */
  readonly onBack: () => void
}

/** Watches the pods of a home. Resolves once the existing pods are known. */
export async function watchPods(options: PodWatchOptions): Promise<PodWatch> {
  const { cluster, namespace, labelSelector, clock, log } = options
  const pods = new Map<string, Pod>()
  const listeners = new Set<(name: string, pod: Pod | null) => void>()
  const closing = new AbortController()
  let lost = false

  function seen(pod: Pod): void {
    pods.set(pod.metadata.name, pod)
    options.onPod(pod)
    for (const listener of listeners) listener(pod.metadata.name, pod)
  }

  function gone(pod: Pod): void {
    if (pods.get(pod.metadata.name)?.metadata.uid !== pod.metadata.uid) return
    pods.delete(pod.metadata.name)
    options.onGone(pod)
    for (const listener of listeners) listener(pod.metadata.name, null)
  }

  /** Lists the pods and returns the version from which a watch continues. */
  async function list(): Promise<string> {
    const found: Pod[] = []
    let version = ''
    let next: string | undefined
    do {
      const page = next === undefined ? {} : { _continue: next }
      const answer = await cluster.core.listNamespacedPod({
        namespace,
        labelSelector,
        limit: listedAtOnce,
        ...page,
      })
      for (const item of answer.items) found.push(podSchema.parse(item))
      version = answer.metadata?.resourceVersion ?? ''
      next = answer.metadata?._continue || undefined
    } while (next !== undefined)
    const uids = new Set(found.map(({ metadata }) => metadata.uid))
    for (const pod of pods.values()) if (!uids.has(pod.metadata.uid)) gone(pod)
    for (const pod of found) seen(pod)
    return version
  }

  /** Watches until the server ends the watch. Returns the last version; empty if the pods must be listed again. */
  async function follow(from: string): Promise<string> {
    let version = from
    await cluster.follow(
      namespace,
      { labelSelector, resourceVersion: from, timeoutSeconds: watchSeconds },
      {
        signal: closing.signal,
        onChange: (type, object) => {
          const versioned = versionedSchema.safeParse(object)
          version = versioned.success ? versioned.data.metadata.resourceVersion : ''
          const pod = podSchema.safeParse(object)
          // A `BOOKMARK` event contains no pod, and an `ERROR` event says that the version is too old.
          if (!pod.success) return
          if (type === 'DELETED') gone(pod.data)
          else if (type === 'ADDED' || type === 'MODIFIED') seen(pod.data)
        },
      },
    )
    return version
  }

  async function run(first: string): Promise<void> {
    let version = first
    let waitMs = againFirstMs
    while (!closing.signal.aborted) {
      try {
        if (version === '') version = await list()
        if (lost) {
          lost = false
          log.info({ namespace }, 'reconnected to the cluster; listing all agents again')
          options.onBack()
        }
        waitMs = againFirstMs
        version = await follow(version)
      } catch (error) {
        version = ''
        if (closing.signal.aborted) return
        if (!lost) log.warn({ err: error, namespace }, 'the cluster does not answer; retrying')
        lost = true
        await clock.sleep(waitMs, closing.signal).catch(() => undefined)
        waitMs = Math.min(waitMs * 2, againMaxMs)
      }
    }
  }

  const running = run(await list())

  return {
    known: () => pods,

    async reaches(name, holds, { ms, signal }) {
      let last = pods.get(name) ?? null
      const over = new AbortController()
      const ending = AbortSignal.any([over.signal, closing.signal, ...(signal ? [signal] : [])])
      const reached = Promise.withResolvers<Pod | null>()
      // If the first check throws, nothing awaits this promise, so its rejection is handled here.
      reached.promise.catch(() => undefined)
      const look = (pod: Pod | null): void => {
        last = pod
        if (holds(pod)) reached.resolve(pod)
      }
      const listener = (of: string, pod: Pod | null): void => {
        if (of === name) look(pod)
      }
      listeners.add(listener)
      try {
        look(await cluster.readPod(namespace, name))
        const bound = clock.sleep(ms, ending).then(
          () => reached.reject(new PodWaitOver(last)),
          (reason: unknown) => reached.reject(reason),
        )
        return await reached.promise.finally(async () => {
          over.abort()
          await bound
        })
      } finally {
        listeners.delete(listener)
      }
    },

    async close() {
      closing.abort()
      await running
    },
  }
}
