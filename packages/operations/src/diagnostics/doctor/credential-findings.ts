import { ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Checks that each credential bound to a host has a value: rewriting `.env` can lose values. Pure. */
export function credentialFinding(facts: {
  /** Names that `config/credentials.json` binds to hosts. */
  readonly bound: readonly string[]
  /** Names of credentials that have a value. */
  readonly known: readonly string[]
}): DoctorFinding {
  const known = new Set(facts.known.map((name) => name.toLowerCase()))
  const lost = facts.bound.filter((name) => !known.has(name.toLowerCase()))
  if (lost.length === 0) {
    return ok('credential-values', 'every credential that config/credentials.json names has a value')
  }
  const [first = ''] = lost
  return warning(
    'credential-values',
    `config/credentials.json binds ${lost.join(', ')}, but neither .env nor the environment has a value for it`,
    `Store the value again: flotilla credentials set ${first}. Or remove the credential from config/credentials.json.`,
  )
}
