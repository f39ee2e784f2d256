import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { labelKeys } from '../../packages/fleet/src/sandbox/hardening/container-options.ts'
import { homeTag } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import * as z from 'zod'
import { openLedger } from '../support/ledger-view.ts'
import type { Chance } from './chance.ts'
import { effectsOfLines } from './ground.ts'
import type { Disturbance, Ground } from './ground.ts'
import { commandsFile } from './steps.ts'

/** Access to a cluster that the chaos test may damage in any way. */
export interface ClusterHands {
  readonly namespace: string
  /** Environment variables with which the mesh finds the cluster. */
  readonly environment: Readonly<Record<string, string>>
  get(path: string): Promise<unknown>
  /** Returns the folder on this machine that holds the volume of that name. */
  volumeFolder(name: string): string
  readonly nodes: readonly ClusterMachine[]
  /** Stops the API server for `ms` milliseconds. */
  haltControl(ms: number): Promise<void>
}

export interface ClusterMachine {
  readonly name: string
  kill(): Promise<void>
  boot(): Promise<void>
  cut(): Promise<void>
  join(): Promise<void>
}

const metadataSchema = z.looseObject({
  name: z.string(),
  uid: z.string(),
  annotations: z.record(z.string(), z.string()).default({}),
  deletionTimestamp: z.string().optional(),
})
const podSchema = z.looseObject({
  metadata: metadataSchema,
  spec: z.looseObject({
    nodeName: z.string().optional(),
    volumes: z
      .array(z.looseObject({ persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional() }))
      .default([]),
  }),
  status: z.looseObject({
    phase: z.string().optional(),
    containerStatuses: z.array(z.looseObject({ containerID: z.string().optional() })).default([]),
  }),
})
const claimSchema = z.looseObject({
  metadata: metadataSchema,
  spec: z.looseObject({ volumeName: z.string().optional() }),
})
const listSchema = z.looseObject({ items: z.array(z.unknown()) })
const namedSchema = z.looseObject({ metadata: z.looseObject({ name: z.string() }) })
type Pod = z.infer<typeof podSchema>

const logLinesMax = 400
/** Kinds of objects of which a reset must leave none. */
const kinds = ['pods', 'persistentvolumeclaims', 'secrets'] as const

/** Agents in pods of a cluster whose nodes and network are disturbed too. */
export function clusterGround(
  hands: ClusterHands,
  of: { readonly home: string; readonly homeId: string },
): Ground {
  const { namespace } = hands
  const selector = `labelSelector=${labelKeys.home}=${homeTag(of.homeId)}`
  const list = async (kind: string) =>
    listSchema.parse(await hands.get(`/api/v1/namespaces/${namespace}/${kind}?${selector}`)).items
  const agentOf = ({ metadata }: { readonly metadata: z.infer<typeof metadataSchema> }): string | undefined =>
    metadata.annotations[labelKeys.agent]

  async function pods(): Promise<readonly Pod[]> {
    return (await list('pods')).map((item) => podSchema.parse(item))
  }

  /** Lists the pods of agents that are in the phase `Running`. */
  async function live(): Promise<readonly Pod[]> {
    return (await pods()).filter((pod) => agentOf(pod) !== undefined && pod.status.phase === 'Running')
  }

  return {
    kind: 'kubernetes',
    disturbances: disturbancesOf(hands),
    async agents() {
      return (await live())
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .flatMap((pod) => agentOf(pod) ?? [])
    },
    async agentLog(agent) {
      const pod = (await pods()).find((one) => agentOf(one) === agent)
      if (pod === undefined) throw new Error('it has no pod')
      const path = `/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}/log`
      return String(await hands.get(`${path}?container=agent&tailLines=${logLinesMax}`))
    },
    async kill(agent) {
      const pod = (await live()).find((one) => agentOf(one) === agent)
      const id = pod?.status.containerStatuses[0]?.containerID?.split('/').at(-1)
      return id !== undefined && (await killGroup(id))
    },
    /** Reads the volumes themselves, since agents may be hibernated. */
    async commandEffects() {
      const claims = (await list('persistentvolumeclaims')).map((item) => claimSchema.parse(item))
      const texts = await Promise.all(
        claims.map(async (claim) => {
          const file = join(hands.volumeFolder(claim.spec.volumeName ?? 'none'), commandsFile)
          return effectsOfLines(agentOf(claim) ?? 'nobody', await readFile(file, 'utf8').catch(() => ''))
        }),
      )
      return texts.flat()
    },
    async strangers() {
      const ledger = openLedger(of.home)
      const rows = ledger.rows("SELECT id FROM agents WHERE state IN ('running', 'unhealthy', 'starting')")
      ledger.close()
      const ready = new Set(rows.map((row) => String(row['id'])))
      const running = await live()
      const byClaim = Map.groupBy(running, claimOfPod)
      return [
        ...running
          .filter((pod) => pod.metadata.deletionTimestamp === undefined && !ready.has(agentOf(pod) ?? ''))
          .map((pod) => ({
            check: 'orphan' as const,
            what: `the pod ${describePod(pod)} runs and no agent is ready there`,
          })),
        ...[...byClaim]
          .filter(([, all]) => all.length > 1)
          .map(([claim, all]) => ({
            check: 'two-on-one-folder' as const,
            what: `${claim} is in ${all.length} pods: ${all.map(describePod).join(', ')}`,
          })),
      ]
    },
    async afterStop() {
      return (await live()).map((pod) => ({
        check: 'after-stop' as const,
        what: `the pod ${describePod(pod)} runs after flotilla stop`,
      }))
    },
    async afterReset() {
      const names = async (kind: string) =>
        (await list(kind)).map((item) => `${kind} ${namedSchema.parse(item).metadata.name}`)
      // Kubernetes deletes a claim only after the node of its last pod has released it.
      for (let left = 60; left > 0 && (await names('persistentvolumeclaims')).length > 0; left--)
        await sleep(1_000)
      const found = (await Promise.all(kinds.map(names))).flat()
      return found.map((what) => ({ check: 'after-reset' as const, what: `${what} is there after a reset` }))
    },
  }
}

function claimOfPod({ spec }: Pod): string {
  return spec.volumes.find((one) => one.persistentVolumeClaim)?.persistentVolumeClaim?.claimName ?? 'no claim'
}

function describePod(pod: Pod): string {
  const agent = pod.metadata.annotations[labelKeys.agent] ?? 'no agent'
  return `${pod.metadata.name} of ${agent} on ${pod.spec.nodeName ?? 'no node'}`
}

/**
 * Kills every process whose control group contains the container's id. Returns false if no process was found. The
 * processes of pods are visible from this machine.
 */
async function killGroup(id: string): Promise<boolean> {
  let killed = false
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
    if (!groups.includes(id)) continue
    try {
      process.kill(Number(pid), 'SIGKILL')
      killed = true
    } catch {
      // The process ended by itself in between.
    }
  }
  return killed
}

/** Disturbances run one at a time, because losing two of three nodes at once leaves a cluster of one. */
function disturbancesOf({ nodes, haltControl }: ClusterHands): readonly Disturbance[] {
  const away = async (ms: number, signal: AbortSignal) => {
    await sleep(ms, null, { signal }).catch(() => null)
  }
  return [
    {
      name: 'node killed',
      async disturb(chance: Chance, signal: AbortSignal) {
        const node = chance.pick(nodes)
        await node.kill()
        await away(chance.between(2_000, 25_000), signal)
        await node.boot()
      },
    },
    {
      name: 'network of a node cut',
      async disturb(chance: Chance, signal: AbortSignal) {
        const node = chance.pick(nodes)
        await node.cut()
        await away(chance.between(2_000, 45_000), signal)
        await node.join()
      },
    },
    {
      name: 'API server halted',
      disturb: (chance: Chance) => haltControl(chance.between(2_000, 15_000)),
    },
  ]
}
