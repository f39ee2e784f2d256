import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import type { Chance } from './chance.ts'
import type { EffectFact, Leftover } from './facts.ts'

export interface Disturbance {
  readonly name: string
  /** Resolves when the disturbance is over; the signal shortens it. */
  disturb(chance: Chance, signal: AbortSignal): Promise<void>
}

/** What agents run on, seen from outside of the product: used to kill agents and to find what is left over. */
export interface Ground {
  readonly kind: RuntimeName
  /** Disturbances of the ground itself, beside kills of mesh and agents. */
  readonly disturbances: readonly Disturbance[]
  /** Names of agents that are running. */
  agents(): Promise<readonly string[]>
  /** Returns the last log lines of the agent's present process. Rejects if they cannot be read. */
  agentLog(agent: string): Promise<string>
  /** Kills an agent; false if it is not running. */
  kill(agent: string): Promise<boolean>
  /** Lines that commands of agents wrote to their own disks. */
  commandEffects(): Promise<readonly EffectFact[]>
  /**
   * Finds agents that the mesh does not know or that run twice. Called while the mesh runs and all work has
   * settled.
   */
  strangers(): Promise<readonly Leftover[]>
  /** Finds agents that still run after the mesh was stopped. */
  afterStop(): Promise<readonly Leftover[]>
  /** Finds what still exists after the home was reset, and removes it. */
  afterReset(): Promise<readonly Leftover[]>
}

/** Each line of a worker's file is one effect of the call that it names. Pure. */
export function effectsOfLines(agent: string, text: string): EffectFact[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line, index) => ({ callId: line, where: `line ${index + 1} on the disk of ${agent}` }))
}
