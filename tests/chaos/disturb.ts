import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from './chance.ts'
import type { Stage } from './stage.ts'
import type { KillCounts } from './kill-repeatedly.ts'

/** Milliseconds between two disturbances, in which agents and nodes come back and some work is done. */
const pauseMs = { least: 10_000, most: 30_000 }

/**
 * Disturbs what agents run on, one disturbance after the other, until the signal. Each disturbance is over when
 * this resolves.
 */
export async function disturb(by: {
  readonly stage: Pick<Stage, 'ground'>
  readonly chance: Chance
  readonly signal: AbortSignal
  readonly counts: KillCounts
  readonly progress: (step: string) => void
}): Promise<void> {
  const { disturbances } = by.stage.ground
  if (disturbances.length === 0) return
  while (!by.signal.aborted) {
    await sleep(by.chance.between(pauseMs.least, pauseMs.most), null, { signal: by.signal }).catch(() => null)
    if (by.signal.aborted) return
    const { name, disturb } = by.chance.pick(disturbances)
    const startedAt = performance.now()
    await disturb(by.chance, by.signal)
    by.counts.disturbed[name] = (by.counts.disturbed[name] ?? 0) + 1
    by.progress(`${name}, for ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
  }
}
