import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { isProblemCode, problemCatalog } from '@flotilla/protocol/problem-catalog'
import { oneLine } from '../terminal/color.ts'

export type DelayedEvent = Extract<FleetEventBody, { type: 'model.delayed' }>

const nameColumnsMax = 40
const startColumnsMax = 300

/** Says why the answer takes long, given the seconds since the event; null once the model answers. Pure. */
export function formatWait(event: DelayedEvent, secondsSince = 0): string | null {
  const provider = oneLine(event.provider ?? 'the model', nameColumnsMax)
  if (event.state === 'over') return null
  if (event.state === 'silent')
    return `waits for ${provider}: no answer for ${event.seconds + secondsSince} s`
  const left = event.seconds - secondsSince
  return `${left > 0 ? `tries again in ${left} s` : 'tries again now'}: ${reasonWords(event, provider)}`
}

/** A run that starts within this time is not reported as waiting. */
const turnToldSeconds = 2

/** Says which other runs of the agent go first; null while it is not worth reporting. Pure. */
export function formatTurn(agentId: string, seconds: number, before: string): string | null {
  if (seconds < turnToldSeconds) return null
  return `waits for its turn, ${seconds} s so far: ${agentId} has other work first (${before}runs)`
}

/** Says what the start of an agent waits for; the reason comes from the mesh. Pure. */
export function formatStart(reason: string, seconds = 0): string {
  const time = seconds < turnToldSeconds ? '' : `, ${seconds} s so far`
  return `has not started yet${time}: ${oneLine(reason, startColumnsMax)}`
}

function reasonWords({ provider_status: status, code }: DelayedEvent, provider: string): string {
  if (status !== null) return `${status} from ${provider}`
  if (code === null || !isProblemCode(code)) return provider
  const { title } = problemCatalog[code]
  return `${provider}, ${title.charAt(0).toLowerCase()}${title.slice(1)}`
}
