import { nearestName } from '@flotilla/protocol/nearest-name'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { chainNames } from '@flotilla/protocol/wallet-api'
import { credentialMatches, normalizeKey } from '@flotilla/identity/access'
import { unknownAgent } from './setting-notices.ts'

/** The existing names with which the entries of a permission record are compared. */
export interface KnownNames {
  readonly agents: readonly string[]
  /** Credentials that agents may be allowed. */
  readonly credentials: readonly string[]
}

/** Every value of `allowed_apis` that grants something; the guard of each API's routes checks it. */
const apiNames: readonly string[] = ['llm', 'http', 'web_search']
const contractForms = /^(?:0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/

/**
 * One sentence for each entry of an agent's permission record that matches nothing as things are now, with its
 * repair: a typo grants nothing, and would otherwise be noticed at the first refusal. Pure.
 */
export function permissionNotices(
  agentId: string,
  record: PermissionRecord,
  known: KnownNames,
): readonly string[] {
  const of = (field: keyof PermissionRecord) => `${field} of ${agentId}`
  const listed = (field: 'allowed_apis' | 'wallet_allowed_chains', names: readonly string[]) =>
    record[field].flatMap((entry) =>
      entry === '*' || names.includes(entry) ? [] : [unknownName(of(field), entry, names)],
    )
  return [
    ...(known.agents.includes(agentId)
      ? []
      : [unknownAgent('config/permissions.json', agentId, known.agents)]),
    ...record.can_message.flatMap((entry) => {
      if (entry === '*' || known.agents.includes(entry)) return []
      return [
        hasWildcard(entry)
          ? exactNames(of('can_message'), entry)
          : unknownAgent(of('can_message'), entry, known.agents),
      ]
    }),
    ...(['can_publish', 'can_subscribe'] as const).flatMap((field) =>
      record[field].flatMap((entry) =>
        entry !== '*' && hasWildcard(entry) ? [exactNames(of(field), entry)] : [],
      ),
    ),
    ...listed('allowed_apis', apiNames),
    ...listed('wallet_allowed_chains', chainNames),
    ...(['blackboard_read', 'blackboard_write'] as const).flatMap((field) =>
      record[field].flatMap((entry) =>
        // A wildcard is replaced by a character that keys may have.
        normalizeKey(entry.replaceAll('*', 'x')) === null
          ? [
              `${of(field)}: ${entry} matches no key; keys have no / at either end, no empty part, no . and no ..`,
            ]
          : [],
      ),
    ),
    ...record.allowed_credentials.flatMap((entry) =>
      known.credentials.some((name) => credentialMatches(entry, name))
        ? []
        : [
            `${of('allowed_credentials')}: no credential matches ${entry}; add it with flotilla credentials set NAME --host HOST`,
          ],
    ),
    ...record.wallet_allowed_contracts.flatMap((entry) =>
      entry === '*' || contractForms.test(entry)
        ? []
        : [
            `${of('wallet_allowed_contracts')}: ${entry} is not the address of a contract, so it matches no contract`,
          ],
    ),
    ...(record.wallet_spend_limit_daily_usd > 0 &&
    record.wallet_spend_limit_per_tx_usd > record.wallet_spend_limit_daily_usd
      ? [
          `${of('wallet_spend_limit_per_tx_usd')}: the limit of ${record.wallet_spend_limit_per_tx_usd} for one payment is never reached, because wallet_spend_limit_daily_usd is ${record.wallet_spend_limit_daily_usd}`,
        ]
      : []),
  ]
}

function hasWildcard(entry: string): boolean {
  return /[*?[\]]/.test(entry)
}

function exactNames(field: string, entry: string): string {
  return `${field}: ${entry} is read as an exact name and matches nothing; list each name, or write only * for all`
}

function unknownName(field: string, entry: string, names: readonly string[]): string {
  const near = nearestName(entry, names)
  return `${field}: ${entry} is not known; ${near === null ? `the known names are ${names.join(', ')}` : `did you mean ${near}?`}`
}
