import { ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** How many tags one line names. */
const namedMax = 5

/** Reports resources on the engine that belong to homes that no longer exist. Pure. */
export function lostHomesFinding(
  homes: readonly { readonly tag: string; readonly networks: number }[],
): DoctorFinding {
  const holding = homes.filter(({ networks }) => networks > 0)
  if (holding.length === 0) return ok('lost-networks', 'every network of agents belongs to an existing home')
  const networks = holding.reduce((sum, home) => sum + home.networks, 0)
  const named = holding.slice(0, namedMax).map(({ tag }) => tag)
  const more = holding.length > namedMax ? ` and ${holding.length - namedMax} more` : ''
  return warning(
    'lost-networks',
    `the container engine has ${networks} networks of homes that no longer exist, each of which uses a range of addresses; the homes: ${named.join(', ')}${more}`,
    'flotilla prune --dry-run shows where those homes were and what else they left; flotilla prune --lost TAG removes the leftovers of one home.',
  )
}
