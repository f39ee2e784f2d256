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
}

/** Kills the mesh and its agents, one blow after the other, until the signal. */
export async function strike(by: {
  readonly stage: Pick<Stage, 'supervisor' | 'ground'>
  readonly next: () => Blow
  readonly chance: Chance
  readonly signal: AbortSignal
  readonly struck: Struck
  /** Runs between the death of a mesh and its next start. */
  readonly between: (life: Life) => Promise<void>
}): Promise<void> {
  const { signal } = by
  while (!signal.aborted) {
    const blow = by.next()
    // A start is waited for where the one before was killed; a blow in a start comes while it is under way.
    if (blow.after === 'ready') await by.stage.supervisor.ready()
    await sleep(blow.delayMs, null, { signal }).catch(() => null)
    if (signal.aborted) return
    await land(by, blow)
  }
}

async function land(by: Parameters<typeof strike>[0], { target }: Blow): Promise<void> {
  const { supervisor, ground } = by.stage
  const killAgent = async (): Promise<void> => {
    const living = await ground.agents()
    if (living.length > 0 && (await ground.kill(by.chance.pick(living)))) by.struck.agents += 1
  }
  const killMesh = async (): Promise<void> => {
    by.struck.mesh += 1
    if (supervisor.current().readyAt === null) by.struck.inStart += 1
    await supervisor.kill(by.between)
  }
  if (target !== 'mesh') await killAgent()
  if (target !== 'agent') await killMesh()
}
