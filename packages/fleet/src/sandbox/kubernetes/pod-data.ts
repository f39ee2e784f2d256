import type { V1PersistentVolumeClaim } from '@kubernetes/client-node'
import type { Clock } from '@flotilla/protocol/clock'
import { readWhileHeld } from '../hold-while-reading.ts'
import { dataThere, SandboxError } from '../sandbox-error.ts'
import type { DataReading } from '../sandbox-runtime.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import { sandboxName } from '../sandbox-spec.ts'
import { claimName, claimOf, helperPod } from './agent-objects.ts'
import { unlessRefused, type Cluster } from './connect-cluster.ts'
import type { Execution } from './open-exec.ts'
import { hasEnded, waitsFor } from './pod-state.ts'
import { PodWaitOver } from './pod-watch.ts'
import { removePod, type PreparedCluster } from './start-pod.ts'

/** A helper pod ends after this time, milliseconds, even if the mesh that created it no longer runs. */
const helperLifeMs = 3_600_000
/** The time limit for starting the helper pod that reads or writes an agent's data, in milliseconds. */
const helperStartMs = 120_000
/** The exit code of the system's `tar` if a file changed while it was read. */
const changedCode = 1
const packCommand = ['tar', '--create', '--file=-', '--format=pax', '--directory=/data', '.'] as const
const unpackCommand = [
  'tar',
  '--extract',
  '--file=-',
  '--directory=/data',
  '--no-same-owner',
  '--no-overwrite-dir',
  '--delay-directory-restore',
] as const

export interface DataOfPod {
  readonly agentId: string
  readonly dataLimitBytes: number
  readonly clock: Clock
  /** Returns a new name for a throw-away pod. */
  readonly newName: () => string
}

/**
 * Reads data through a helper pod that mounts the claim read-only, on the node of the agent's pod if it runs. The
 * agent's processes cannot reach the helper pod, so they cannot write into the archive. The agent is not frozen while
 * `tar` reads: `tar` reports changed files, and the backup lists the agent as not held.
 */
export async function readPodData(to: PreparedCluster, of: DataOfPod): Promise<DataReading | null> {
  const { cluster, ground } = to
  const pod = await cluster.readPod(ground.namespace, sandboxName(ground.homeId, of.agentId))
  const node = pod === null || hasEnded(pod) ? undefined : (pod.spec?.nodeName ?? undefined)
  if (!(await hasClaim(to, of.agentId))) return null
  const helper = await openHelper(to, { ...of, node, readOnly: true })
  try {
    const execution = await cluster.exec(helper.place, packCommand)
    const close = async (): Promise<void> => {
      execution.close()
      await helper.remove()
    }
    return readWhileHeld({
      tar: packed(execution),
      isHeld: node === undefined,
      release: async () => {},
      close,
      clock: of.clock,
    })
  } catch (error) {
    await helper.remove()
    throw error
  }
}

async function* packed(execution: Execution): AsyncGenerator<Uint8Array> {
  yield* execution.stdout
  const { code, stderr } = await execution.ended
  if (code !== 0 && code !== changedCode)
    throw new SandboxError(
      'data-unread',
      `Reading the data of an agent failed: tar ended with exit code ${code}: ${stderr}\nRepair: repeat the command.`,
    )
}

/** Restores an agent's data (S10) in a pod without an agent; `tar` refuses names outside of the data folder. */
export async function writePodData(
  to: PreparedCluster,
  of: DataOfPod,
  tar: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { cluster, ground } = to
  const { namespace } = ground
  const name = claimName(ground.homeId, of.agentId)
  if (await hasClaim(to, of.agentId)) throw dataThere(`the claim ${name}`)
  const body: V1PersistentVolumeClaim = claimOf(ground, of)
  await cluster.core.createNamespacedPersistentVolumeClaim({ namespace, body })
  try {
    const helper = await openHelper(to, of)
    try {
      const execution = await cluster.exec({ ...helper.place, stdin: true }, unpackCommand)
      execution.stdout.resume()
      for await (const piece of tar) await execution.write(piece)
      execution.endInput()
      const { code, stderr } = await execution.ended
      execution.close()
      if (code !== 0)
        throw new SandboxError(
          'data-unwritten',
          `Writing the data of an agent failed: tar ended with exit code ${code}: ${stderr}\nRepair: check the free space of the volume, then repeat the command.`,
        )
    } finally {
      await helper.remove()
    }
  } catch (error) {
    // Deletes the incomplete claim, because a later start would take its data for complete.
    await cluster.core
      .deleteNamespacedPersistentVolumeClaim({ namespace, name })
      .catch(unlessRefused([404], null))
    throw error
  }
}

/**
 * Runs a program to its end and returns its output, which is buffered in memory. So the program must be the mesh's
 * own, with short output.
 */
export async function runInPod(
  cluster: Cluster,
  place: Parameters<Cluster['exec']>[0],
  command: readonly string[],
): Promise<{ readonly code: number; readonly stdout: string }> {
  const execution = await cluster.exec(place, command)
  try {
    const pieces = await Array.fromAsync<Uint8Array>(execution.stdout)
    const { code } = await execution.ended
    return { code, stdout: Buffer.concat(pieces).toString('utf8') }
  } finally {
    execution.close()
  }
}

export async function hasClaim({ cluster, ground }: PreparedCluster, agentId: string): Promise<boolean> {
  const at = { namespace: ground.namespace, name: claimName(ground.homeId, agentId) }
  const found = await cluster.core.readNamespacedPersistentVolumeClaim(at).catch(unlessRefused([404], null))
  return found !== null
}

async function openHelper(
  to: PreparedCluster,
  of: DataOfPod & {
    /** The node that must run the pod, because only pods on one node can share a claim; absent for any node. */
    readonly node?: string | undefined
    readonly readOnly?: boolean
  },
) {
  const { cluster, ground, watch } = to
  const { namespace } = ground
  const name = of.newName()
  const claim = claimName(ground.homeId, of.agentId)
  const remove = (): Promise<void> => removePod(to, name, () => undefined)
  const body = helperPod(ground, {
    name,
    claim,
    command: ['sleep', 'infinity'],
    size: sandboxSizes.worker,
    lifeMaxMs: helperLifeMs,
    ...(of.node === undefined ? {} : { node: of.node }),
    readOnly: of.readOnly ?? false,
  })
  await cluster.core.createNamespacedPod({ namespace, body })
  try {
    await watch.reaches(name, (pod) => pod?.status?.phase === 'Running', { ms: helperStartMs })
    return { place: { namespace, pod: name, container: 'probe' }, remove }
  } catch (cause) {
    await remove()
    const why = cause instanceof PodWaitOver && cause.last !== null ? waitsFor(cause.last) : String(cause)
    throw new SandboxError(
      'data-pod-failed',
      `A pod that reads the claim ${claim} could not be started: ${why}\nRepair: repeat the command when no other pod uses the claim.`,
      { cause },
    )
  }
}
