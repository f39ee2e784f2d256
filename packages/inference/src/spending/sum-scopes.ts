/** Returns the scope of an agent's sums. Sums are kept per scope and period: a UTC day, month, or none. Pure. */
export function agentScope(agentId: string): string {
  return `agent:${agentId}`
}

export function runScope(runId: string): string {
  return `run:${runId}`
}

export function taskScope(taskId: string): string {
  return `task:${taskId}`
}

export function projectScope(project: string): string {
  return `project:${project}`
}

export const fleetScope = 'fleet'

/** `2026-11-21T…` gives `2026-11-21`. */
export function utcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** `2026-11-21T14:…` gives `2026-11-21T14`. */
export function utcHour(at: number): string {
  return new Date(at).toISOString().slice(0, 13)
}

const dayMs = 24 * 3600 * 1000

/** Does the same as `utcDay`, but formats the text only once a day. */
export function createUtcDay(): (at: number) => string {
  let number = Number.NaN
  let text = ''
  return (at) => {
    const day = Math.floor(at / dayMs)
    if (day !== number) {
      number = day
      text = utcDay(at)
    }
    return text
  }
}

export function monthOf(day: string): string {
  return day.slice(0, 7)
}
