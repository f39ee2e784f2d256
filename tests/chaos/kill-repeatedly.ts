import { watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from './chance.ts'
import type { Stage } from './stage.ts'
import type { MeshInstance } from './supervise-mesh.ts'
import type { PlannedKill } from './work-plan.ts'

/** Counts of what was killed so far. */
export interface KillCounts {
  mesh: number
  agents: number
  /** Kills of the mesh before it was ready. */
  inStart: number
  /** Agents that were hibernated on request. */
  asleep: number
  /** Count of each disturbance of what agents run on, by name. */
  readonly disturbed: Record<string, number>
}

export interface KillOptions {
  readonly stage: Pick<Stage, 'supervisor' | 'ground' | 'home' | 'outside'>
  readonly next: () => PlannedKill
  readonly chance: Chance
  readonly signal: AbortSignal
  /** Most kills. */
  readonly most: number
  readonly counts: KillCounts
  /** Number of pieces of work that have ended. */
  readonly over: () => number
  /** Called after a mesh was killed and before its next start. */
  readonly between: (instance: MeshInstance) => Promise<void>
}

/** Longest wait for a write or a request, milliseconds; the kill happens after it in any case. */
const patienceMs = 5000

/**
 * The time from a kill to ready that the delays of a plan assume, ms. On slower machines the delays grow in
 * proportion.
 */
const usualReadyMs = 3000

/** Kills for each piece of work. Without this bound a slow machine would mostly restart. */
const killsPerPiece = 0.3
/** Longest wait for the work to catch up with the kills, milliseconds. */
const calmMaxMs = 20_000

/** Kills the mesh and its agents, one kill after the other, until the signal. */
export async function killRepeatedly(by: KillOptions): Promise<void> {
  for (let kills = 0; kills < by.most && !by.signal.aborted; kills++) {
    await calm(by, kills)
    const planned = by.next()
    const victim = await momentOf(by, planned)
    if (by.signal.aborted) return
    await land(by, planned, victim)
  }
}

/** Resolves when enough work has ended for this number of kills. */
async function calm(by: KillOptions, kills: number): Promise<void> {
  const end = performance.now() + calmMaxMs
  while (kills > by.over() * killsPerPiece && performance.now() < end && !by.signal.aborted) await sleep(50)
}

/**
 * Resolves when the kill is due, with the agent to be killed. The agent is chosen before, since looking for one at
 * that time would take too long.
 */
async function momentOf(
  by: KillOptions,
  { after, delayMs, skip, target }: PlannedKill,
): Promise<string | null> {
  const { supervisor, ground, outside, home } = by.stage
  if (after !== 'start') await supervisor.ready()
  const pace = Math.max(1, lastReadyMs(supervisor.instances) / usualReadyMs)
  const living = target === 'mesh' ? [] : await ground.agents()
  const victim = living.length > 0 ? by.chance.pick(living) : null
  const enough = AbortSignal.any([by.signal, AbortSignal.timeout(patienceMs)])
  if (after === 'write') await writes(join(home, 'data'), skip + 1, enough)
  if (after === 'request') await outside.requests(skip + 1, enough)
  if (after === 'write') spin(delayMs)
  else await sleep(delayMs * (after === 'request' ? 1 : pace), null, { signal: by.signal }).catch(() => null)
  return victim
}

function lastReadyMs(instances: readonly MeshInstance[]): number {
  const instance = instances.findLast(
    ({ readyAt, killedBeforeAt }) => readyAt !== null && killedBeforeAt !== null,
  )
  return (instance?.readyAt ?? 0) - (instance?.killedBeforeAt ?? 0)
}

/** Resolves after `count` writes to the database's folder. */
function writes(folder: string, count: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let left = count
    const watcher = watch(folder, (_event, name) => {
      if (name !== 'mesh.db-wal') return
      left -= 1
      if (left <= 0) end()
    })
    const end = (): void => {
      watcher.close()
      resolve()
    }
    signal.addEventListener('abort', end, { once: true })
  })
}

/** Waits busily, since a timer is coarser than the time between two writes. */
function spin(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

async function land(by: KillOptions, { target }: PlannedKill, victim: string | null): Promise<void> {
  const { supervisor, ground } = by.stage
  const killAgent = async (): Promise<void> => {
    if (victim !== null && (await ground.kill(victim))) by.counts.agents += 1
  }
  const killMesh = async (): Promise<void> => {
    by.counts.mesh += 1
    if (supervisor.current().readyAt === null) by.counts.inStart += 1
    await supervisor.kill(by.between)
  }
  if (target !== 'mesh') await killAgent()
  if (target !== 'agent') await killMesh()
}
