import { strongerRung } from '@flotilla/protocol/isolation'
import type { IsolationRung, IsolationWish } from '@flotilla/protocol/isolation'
import type { Settings } from './settings-file.ts'

/**
 * What an agent is to run on by the owner's settings, with at least what the start of the mesh asked for and never below
 * what its record requires. Pure.
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
