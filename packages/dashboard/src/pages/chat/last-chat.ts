import { keepText, readKept } from '../../data/kept-text.ts'

/** The name under which this browser keeps the conversation that was open last. */
const place = 'chat.last'

/** Keeps the conversation that is open, for the next visit of the page without an agent. */
export function keepLastChat(agent: string, session: string | null): void {
  const text = JSON.stringify({ agent, session })
  if (readKept(place) !== text) keepText(place, text)
}

/**
 * Returns the address of the conversation that was open last, if its agent still exists. On a phone the page without
 * an agent lists the agents, so the result is null.
 */
export function lastChatPath(agents: readonly string[]): string | null {
  return matchMedia('(min-width: 761px)').matches ? pathOfKept(readKept(place), agents) : null
}

/** Pure. */
export function pathOfKept(text: string, agents: readonly string[]): string | null {
  try {
    const { agent, session } = Object(JSON.parse(text)) as {
      readonly agent?: unknown
      readonly session?: unknown
    }
    if (typeof agent !== 'string' || !agents.includes(agent)) return null
    const path = `/chat/${encodeURIComponent(agent)}`
    return typeof session === 'string' ? `${path}?session=${encodeURIComponent(session)}` : path
  } catch {
    return null
  }
}
