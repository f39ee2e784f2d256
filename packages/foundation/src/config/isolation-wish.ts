import { strongerRung } from '@flotilla/protocol/isolation'
import type { IsolationRung, IsolationWish } from '@flotilla/protocol/isolation'
import type { Settings } from './settings-file.ts'

/**
 * Returns the isolation level of an agent by the owner's settings: at least the level that the start of the mesh
 * requires, and never below the level in the agent's record. Pure.
 */
export function isolationWish(
  settings: Settings,
  agentId: string,
  atLeast: { readonly start: IsolationRung; readonly record: IsolationRung },
): IsolationWish {
  const own = settings.agents[agentId]
  const rung = own?.isolation ?? settings.isolation
  const mode = own?.isolation_mode ?? settings.isolation_mode
  const floor = strongerRung(atLeast.record, mode === 'required' ? rung : 'container')
  return { wanted: strongerRung(strongerRung(rung, atLeast.start), floor), floor }
}
