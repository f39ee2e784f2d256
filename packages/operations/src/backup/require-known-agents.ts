import { Problem } from '@flotilla/protocol/problem'

/** How many names a repair lists. */
const shownMax = 20

/**
 * Throws the Problem `not-found` for the first name of `--without` that is not among `agents`, so that an agent that
 * the owner wanted to leave out is not included because of a typing error. `lacks` begins the detail, as in `the home
 * has no agent`.
 */
export function requireKnownAgents(
  without: readonly string[],
  { agents, lacks }: { readonly agents: readonly string[]; readonly lacks: string },
): void {
  const unknown = without.find((agent) => !agents.includes(agent))
  if (unknown === undefined) return
  const names = agents.slice(0, shownMax).join(', ')
  throw new Problem('not-found', {
    detail: `${lacks} ${unknown}, which --without names`,
    repair: `${names === '' ? 'Leave out --without: no agent has data' : `Name one of ${names}`}; nothing was written.`,
  })
}
