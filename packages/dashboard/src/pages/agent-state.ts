import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { stateTone } from '../live/state-tone.ts'
import type { Tone } from '../live/state-tone.ts'

export function agentTone({ state, busy, paused }: AgentView): Tone {
  const tone = stateTone(state)
  if (tone === 'bad') return tone
  if (busy) return 'busy'
  return paused === null ? tone : 'warn'
}

/** Returns the text for the state that the color shows. */
export function agentWords({ state, busy, archived }: AgentView): string {
  if (archived) return 'archived'
  if (busy) return 'working'
  return state === 'hibernated' ? 'asleep' : state
}
