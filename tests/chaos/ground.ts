import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import type { Chance } from './chance.ts'
import type { EffectFact, Leftover } from './facts.ts'

export interface Disturbance {
  readonly name: string
  /** Resolves when it is over, which the signal hastens. */
  befall(chance: Chance, signal: AbortSignal): Promise<void>
}

/** What agents run on, seen from outside of the product: what is killed there, and what is left there. */
export interface Ground {
  readonly kind: RuntimeName
  /** What befalls the ground itself, beside the kills of mesh and agents. */
  readonly disturbances: readonly Disturbance[]
  /** Agents that live now, by name. */
  agents(): Promise<readonly string[]>
  /** The last that its present life said. Rejects where nobody knows. */
  agentLog(agent: string): Promise<string>
  /** Ends an agent at once; false where it does not live. */
  kill(agent: string): Promise<boolean>
  /** Lines that commands of agents left on their own disks. */
  commandEffects(): Promise<readonly EffectFact[]>
  /** While the mesh runs and all is settled: what it does not know, or has twice. */
  strangers(): Promise<readonly Leftover[]>
  /** After the mesh was stopped: what still lives. */
  afterStop(): Promise<readonly Leftover[]>
  /** After the home was reset: what is still there. Takes it away. */
  afterReset(): Promise<readonly Leftover[]>
}

/** Each line of a worker's file is one effect of the call that it names. Pure. */
export function effectsOfLines(agent: string, text: string): EffectFact[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line, index) => ({ callId: line, where: `line ${index + 1} on the disk of ${agent}` }))
}
