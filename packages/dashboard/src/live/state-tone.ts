import type { AgentView } from '@flotilla/protocol/mesh-human-api'

export type Tone = 'neutral' | 'ok' | 'busy' | 'warn' | 'bad'

/** Returns the color tone for a state of an agent. */
export function stateTone(state: AgentView['state']): Tone {
  switch (state) {
    case 'running':
      return 'ok'
    case 'starting':
      return 'busy'
    case 'unhealthy':
    case 'restarting':
      return 'warn'
    case 'quarantined':
      return 'bad'
    case 'created':
    case 'stopping':
    case 'stopped':
    case 'hibernated':
    case 'archived':
    case 'deleted':
      return 'neutral'
  }
}
