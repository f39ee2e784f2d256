/** Conversations side by side, as the address has them. */

/** More would be too narrow to read. */
export const panesMax = 4

export interface Pane {
  readonly agent: string
  /** Null for the conversation that this browser begins in. */
  readonly session: string | null
}

const beside = 'beside'

/** The panes beside the first, as `?beside=scribe&beside=courier:reports`. Pure. */
export function panesIn(search: string): readonly Pane[] {
  return new URLSearchParams(search)
    .getAll(beside)
    .slice(0, panesMax - 1)
    .flatMap((text) => {
      // Names of sessions have colons of their own, such as that of a task.
      const [agent = '', ...rest] = text.split(':')
      const session = rest.join(':')
      return agent === '' ? [] : [{ agent, session: session === '' ? null : session }]
    })
}

/** The address of these panes. Pure. */
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

/** A name for one more conversation that none of these has. Pure. */
export function freshSession(known: readonly string[]): string {
  for (let number = 2; ; number++) {
    const name = `dashboard-${number}`
    if (!known.includes(name)) return name
  }
}
