import type { ProblemCode } from '@flotilla/protocol/problem-catalog'

/** The page on which a person repairs a problem, and the words of the button that leads there. */
export interface RepairPlace {
  readonly words: string
  readonly path: string
}

const providers: RepairPlace = { words: 'Check the provider and its key', path: '/settings/providers' }
const price: RepairPlace = { words: 'Set the price', path: '/settings/providers' }
const models: RepairPlace = { words: 'See the models', path: '/settings/providers' }
const budget: RepairPlace = { words: 'Raise the budget', path: '/settings/limits' }
const permissions: RepairPlace = { words: 'Change its permissions', path: '/agents/{agent}?tab=permissions' }
const agent: RepairPlace = { words: 'See the agent', path: '/agents/{agent}' }
const run: RepairPlace = { words: 'See the run', path: '/runs/{run}' }
const fleet: RepairPlace = { words: 'Open Fleet', path: '/fleet' }
const runs: RepairPlace = { words: 'Open Runs', path: '/runs' }
const approvals: RepairPlace = { words: 'Open Approvals', path: '/approvals' }
const credentials: RepairPlace = { words: 'Open the credentials', path: '/settings/credentials' }
const webhooks: RepairPlace = { words: 'Open the webhooks', path: '/settings/integrations' }
const wallet: RepairPlace = { words: 'Open the wallet', path: '/wallet' }

/**
 * Problems whose repair has a page. The others are repaired by another input, which their words describe, or at the
 * terminal; the test of this file lists each of them.
 */
export const repairPlaces: Partial<Record<ProblemCode, RepairPlace>> = {
  'budget-exhausted': budget,
  'provider-quota-exhausted': providers,
  'provider-refused': providers,
  'provider-unreachable': providers,
  'provider-unreadable': providers,
  'model-unknown': providers,
  'not-configured': providers,
  'model-unpriced': price,
  'model-not-allowed': models,
  'model-overloaded': models,
  'model-call-rejected': models,
  'model-failed': models,
  'upstream-timeout': models,
  'prompt-too-long': models,
  'context-exhausted': models,
  denied: permissions,
  'no-capable-agent': permissions,
  'agent-quarantined': agent,
  'agent-unavailable': agent,
  'fleet-paused': fleet,
  'machine-full': fleet,
  'packages-delayed': agent,
  'harness-failed': run,
  'data-full': agent,
  'unknown-agent': fleet,
  'agent-archived': fleet,
  'reserved-agent-id': fleet,
  'rounds-exhausted': run,
  'tool-loop-terminated': run,
  interrupted: run,
  'outcome-unknown': run,
  'agent-busy': runs,
  'lane-full': runs,
  expired: approvals,
  'approvals-full': approvals,
  'approval-required': approvals,
  'approval-changed': approvals,
  'approval-expired': approvals,
  'approval-used': approvals,
  'credential-refused': credentials,
  'credential-unknown': credentials,
  'signature-refused': webhooks,
  'webhook-full': webhooks,
  'webhook-disabled': webhooks,
  'wallet-locked': wallet,
  'wallet-stopped': wallet,
  'no-wallet': wallet,
  'browser-unavailable': { words: 'Open Settings, Browsers', path: '/settings/browsers' },
  'browsers-full': { words: 'Open Settings, Browsers', path: '/settings/browsers' },
}

/** The agent and the run of a problem, as far as the place that shows it knows them. */
export interface Concerned {
  readonly agent?: string | undefined
  readonly run?: string | undefined
}

/** Returns the page that repairs a problem; null if no page does, or if the agent or run of the page is unknown. Pure. */
export function repairPlaceOf(code: string, { agent: id, run: runId }: Concerned = {}): RepairPlace | null {
  const place = Object.hasOwn(repairPlaces, code) ? repairPlaces[code as ProblemCode] : undefined
  if (place === undefined) return null
  if (place.path.includes('{agent}') && id === undefined) return null
  if (place.path.includes('{run}') && runId === undefined) return null
  return { ...place, path: place.path.replace('{agent}', id ?? '').replace('{run}', runId ?? '') }
}
