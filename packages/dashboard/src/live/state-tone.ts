import type { AgentView } from '@flotilla/protocol/mesh-human-api'

export type Tone = 'neutral' | 'ok' | 'busy' | 'warn' | 'bad'

/** How well it is for an agent to be in this state of its life. */
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
