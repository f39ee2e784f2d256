import { createHash } from 'node:crypto'
import type { FleetEvents, ProgramSetup } from '../../events/index.ts'

/** What the programs of an agent find in its container, joined from all modules that provide something. */
export interface JoinedSetup extends ProgramSetup {
  /** Distinguishes what takes effect with the next container; empty if no module provides anything. */
  readonly mark: string
}

/** Joins what all modules provide for the programs of an agent. */
export function programSetupOf(events: Pick<FleetEvents, 'programSetups'>, agentId: string): JoinedSetup {
  const setups = events.programSetups.ask(agentId)
  const environment: Record<string, string> = {}
  const files: Record<string, string> = {}
  for (const setup of setups) {
    Object.assign(environment, setup.environment)
    Object.assign(files, setup.files)
  }
  const text = JSON.stringify([sorted(environment), sorted(files)])
  const mark = setups.length === 0 ? '' : createHash('sha256').update(text).digest('hex').slice(0, 16)
  return { environment, files, mark }
}

/** Returns whether programs would find something else in a container that is started now. */
export function hasOtherPrograms(
  {
    sandboxes,
    fleetEvents,
  }: {
    readonly sandboxes: { readonly startedPrograms: ReadonlyMap<string, string> }
    readonly fleetEvents: Pick<FleetEvents, 'programSetups'>
  },
  agentId: string,
): boolean {
  const started = sandboxes.startedPrograms.get(agentId)
  return started !== undefined && started !== programSetupOf(fleetEvents, agentId).mark
}

function sorted(texts: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(texts).toSorted(([one], [other]) => (one < other ? -1 : 1))
}
