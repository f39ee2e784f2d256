/** Conversations side by side, encoded in the page's address. */

/** The maximum number of panes side by side; more would be too narrow to read. */
export const panesMax = 4

export interface Pane {
  readonly agent: string
  /** Null for the default conversation of this browser. */
  readonly session: string | null
}

const beside = 'beside'

/** Parses the panes beside the first one from `?beside=scribe&beside=courier:reports`. Pure. */
export function panesIn(search: string): readonly Pane[] {
  return new URLSearchParams(search)
    .getAll(beside)
    .slice(0, panesMax - 1)
    .flatMap((text) => {
      // Session names may contain colons, such as the session of a task.
      const [agent = '', ...rest] = text.split(':')
      const session = rest.join(':')
      return agent === '' ? [] : [{ agent, session: session === '' ? null : session }]
    })
}

/** Returns the address of these panes. Pure. */
export function pathOf(panes: readonly Pane[]): string {
  const [first, ...others] = panes
  if (!first) return '/chat'
  const search = new URLSearchParams(
    others
      .slice(0, panesMax - 1)
      .map(({ agent, session }) => [beside, session === null ? agent : `${agent}:${session}`]),
  ).toString()
  return `/chat/${encodeURIComponent(first.agent)}${search === '' ? '' : `?${search}`}`
}

/** Returns a name for a new conversation that differs from all known ones. Pure. */
export function freshSession(known: readonly string[]): string {
  for (let number = 2; ; number++) {
    const name = `dashboard-${number}`
    if (!known.includes(name)) return name
  }
}
