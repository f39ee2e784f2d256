import { watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from './chance.ts'
import type { Stage } from './stage.ts'
import type { Life } from './supervise-mesh.ts'
import type { Blow } from './work-plan.ts'

/** What was killed so far. */
export interface Struck {
  mesh: number
  agents: number
  /** Of the kills of the mesh: before it was ready. */
  inStart: number
  /** Agents that were put to sleep. */
  asleep: number
  /** How often each thing befell what agents run on. */
  readonly befallen: Record<string, number>
}

export interface Striking {
  readonly stage: Pick<Stage, 'supervisor' | 'ground' | 'home' | 'outside'>
  readonly next: () => Blow
  readonly chance: Chance
  readonly signal: AbortSignal
  /** Blows at most. */
  readonly most: number
  readonly struck: Struck
  /** Pieces of work that are over. */
  readonly over: () => number
  /** Runs between the death of a mesh and its next start. */
  readonly between: (life: Life) => Promise<void>
}

/** A blow that waits for a write or a request comes at this moment all the same. */
const patienceMs = 5000

/** The time from a kill to ready that the delays of a plan are meant for, ms. On a slower machine they grow along. */
const usualReadyMs = 3000

/** Blows for each piece of work. A slow machine would else do little but start again. */
const blowsPerPiece = 0.3
/** A blow that is ahead of the work comes after this all the same, milliseconds. */
const calmMaxMs = 20_000

/** Kills the mesh and its agents, one blow after the other, until the signal. */
export async function strike(by: Striking): Promise<void> {
  for (let blows = 0; blows < by.most && !by.signal.aborted; blows++) {
    await calm(by, blows)
    const blow = by.next()
    const victim = await momentOf(by, blow)
    if (by.signal.aborted) return
    await land(by, blow, victim)
  }
}

/** Resolves when the work has come as far as so many blows. */
async function calm(by: Striking, blows: number): Promise<void> {
  const end = performance.now() + calmMaxMs
  while (blows > by.over() * blowsPerPiece && performance.now() < end && !by.signal.aborted) await sleep(50)
}

/** Resolves at the moment of the blow, with the agent that is to be killed: looking for one then would take too long. */
async function momentOf(by: Striking, { after, delayMs, skip, target }: Blow): Promise<string | null> {
  const { supervisor, ground, outside, home } = by.stage
  if (after !== 'start') await supervisor.ready()
  const pace = Math.max(1, lastReadyMs(supervisor.lives) / usualReadyMs)
  const living = target === 'mesh' ? [] : await ground.agents()
  const victim = living.length > 0 ? by.chance.pick(living) : null
  const enough = AbortSignal.any([by.signal, AbortSignal.timeout(patienceMs)])
  if (after === 'write') await writes(join(home, 'data'), skip + 1, enough)
  if (after === 'request') await outside.requests(skip + 1, enough)
  if (after === 'write') spin(delayMs)
  else await sleep(delayMs * (after === 'request' ? 1 : pace), null, { signal: by.signal }).catch(() => null)
  return victim
}

function lastReadyMs(lives: readonly Life[]): number {
  const life = lives.findLast(({ readyAt, killedBeforeAt }) => readyAt !== null && killedBeforeAt !== null)
  return (life?.readyAt ?? 0) - (life?.killedBeforeAt ?? 0)
}

/** Resolves when the database was written so often. */
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

/** A timer is not as fine as two writes are near. */
function spin(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

async function land(by: Striking, { target }: Blow, victim: string | null): Promise<void> {
  const { supervisor, ground } = by.stage
  const killAgent = async (): Promise<void> => {
    if (victim !== null && (await ground.kill(victim))) by.struck.agents += 1
  }
  const killMesh = async (): Promise<void> => {
    by.struck.mesh += 1
    if (supervisor.current().readyAt === null) by.struck.inStart += 1
    await supervisor.kill(by.between)
  }
  if (target !== 'mesh') await killAgent()
  if (target !== 'agent') await killMesh()
}
