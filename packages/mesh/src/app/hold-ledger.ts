import process from 'node:process'
import { Problem } from '@flotilla/protocol/problem'
import type { DataPaths } from '@flotilla/foundation/config'
import {
  holderName,
  holdLease,
  requireFreeLease,
  startEndThread,
  takeLease,
} from '@flotilla/foundation/lease'
import { steadyMs, systemClock } from '@flotilla/foundation/platform'
import type { Log } from '@flotilla/foundation/platform'
import { epochOf } from '@flotilla/foundation/storage'
import type { WriteFence } from '@flotilla/foundation/storage'
import { agentsCluster, meshInCluster, notedCluster, runtimeKind, usualKubeconfig } from './choose-cluster.ts'
import type { CommandContext } from './commands/command-context.ts'

export interface HeldLedger {
  readonly fence: WriteFence
  /** Releases the lease; call it after the last write of the mesh. */
  release(): Promise<void>
}

interface LedgerParts {
  readonly context: CommandContext
  readonly homeId: string
  readonly paths: DataPaths
}

/**
 * Acquires the lease of a home whose agents run in a cluster: such a home can be started on any machine, and the
 * lease decides which one uses it. Null if agents run on this machine, where the home's lock is enough. The process
 * is terminated before another one can get the lease. Problem `home-in-use` while another machine holds it, or
 * `SandboxError`.
 */
export async function holdLedger(parts: LedgerParts & { readonly log: Log }): Promise<HeldLedger | null> {
  const { context, paths, log } = parts
  const { print } = context
  const place = leasePlace(parts)
  if (place === null) return null
  if (context.pid === 1) throw unendable()
  const { openClusterLease } = await import('@flotilla/fleet/sandbox/kubernetes')
  const records = await openClusterLease(place)
  const holder = await holderName(paths.home)
  const common = { records, holder, clock: systemClock, steadyMs }
  const taken = await takeLease({
    ...common,
    epochSeen: epochOf(paths.database),
    progress: (step) => print({ progress: step }),
    signal: context.stopped,
  })
  const end = await startEndThread()
  const onLost = (why: string): void => {
    log.error({ why }, 'lost the lease on this home; exiting at once')
    const { code, detail, repair } = lost(why)
    print({ problem: { code, detail, repair } })
    process.kill(process.pid, 'SIGKILL')
    process.exit(1)
  }
  const lease = holdLease({ ...common, onUntil: end.extend, onLost }, taken)
  return {
    fence: { epoch: lease.epoch, mayWrite: lease.mayWrite, onLost },
    async release() {
      await lease.release()
      await end.stop()
    },
  }
}

/**
 * Checks that no mesh uses the home, for commands that delete or read it. Throws the problem `home-in-use` if a mesh
 * on another machine does; waits for the end of a killed mesh's lease. Does nothing if agents run on this machine.
 * Rejects with `SandboxError`.
 */
export async function requireNoMesh(parts: LedgerParts): Promise<void> {
  const { context, paths } = parts
  const place = leasePlace(parts)
  if (place === null) return
  const { lookAtClusterLease } = await import('@flotilla/fleet/sandbox/kubernetes')
  await requireFreeLease({
    records: await lookAtClusterLease(place),
    holder: await holderName(paths.home),
    clock: systemClock,
    steadyMs,
    progress: (step) => context.print({ progress: step }),
    signal: context.stopped,
  })
}

/** Returns where the lease of the home is: its cluster; null if agents run on this machine. */
function leasePlace({ context: { environment, env }, homeId, paths }: LedgerParts) {
  const noted = notedCluster(paths.clusterFile)
  if (runtimeKind(environment, noted) !== 'kubernetes') return null
  const { context, namespace } = agentsCluster(environment.kubernetes, noted)
  return {
    homeId,
    namespace,
    context,
    kubeconfig: usualKubeconfig(env),
    ...meshInCluster(environment.kubernetes),
    clock: systemClock,
  }
}

/** Builds the problem for a mesh that is the first process of its container: no signal inside could end it. */
function unendable(): Problem {
  return new Problem('conflict', {
    detail:
      'the mesh is the first process of its container, which no process inside can kill: if another machine takes over the home, this mesh could continue to work on it',
    repair:
      'Give the container an init process: set shareProcessNamespace: true in its pod, or use docker run --init.',
  })
}

function lost(why: string): Problem {
  return new Problem('home-in-use', {
    detail: `this mesh may no longer use its home: ${why}`,
    repair:
      'Start the mesh again with flotilla start -d. If another machine uses the home now, the start fails and names that machine.',
  })
}
