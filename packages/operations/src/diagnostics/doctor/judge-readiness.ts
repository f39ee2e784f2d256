import type { StorageTrouble } from '@flotilla/foundation/storage'

/** Describes what is wrong; null if nothing is. */
type Fault = string | null

/** Everything that readiness depends on. */
export interface ReadinessInput {
  readonly permissions: Fault
  readonly settings: Fault
  readonly policy: Fault
  readonly walls: Fault
  readonly journal: Fault
  readonly disk: StorageTrouble | null
  readonly jobs: Fault
  readonly money: Fault
  readonly serving: boolean
}

export interface Readiness {
  readonly ready: boolean
  readonly problems: { id: string; detail: string; stops_agents: boolean }[]
}

/**
 * Decides whether agents run, for `/readyz`, status, `flotilla status` and doctor. Not ready means exactly that the
 * gates refuse work. Other faults are reported too but stop nothing: a monitor of `ready` would otherwise take down a
 * working mesh. Pure.
 */
export function judgeReadiness(state: ReadinessInput): Readiness {
  const { permissions, settings, policy, walls, journal, disk, jobs, money, serving } = state
  const stops = problemsOf(true, {
    'permissions-broken':
      permissions &&
      `all agents are denied everything, because the permission file is invalid: ${permissions}`,
    walls,
    ...(disk === null ? {} : { [disk.code]: disk.detail }),
    starting: serving ? null : 'the fleet is being started',
  })
  const others = problemsOf(false, {
    'settings-broken':
      settings && `config/settings.json is invalid, so the last valid settings apply: ${settings}`,
    'policy-broken':
      policy &&
      `everything that agents do outside of their containers is denied, because the policy is invalid: ${policy}`,
    'journal-broken': journal && `the audit log is broken (agents continue to work): ${journal}`,
    'cron-broken': jobs,
    'money-corrected': money && `the mesh corrected sums of money at this start: ${money}`,
  })
  return { ready: stops.length === 0, problems: [...stops, ...others] }
}

function problemsOf(stopsAgents: boolean, faults: Readonly<Record<string, Fault>>): Readiness['problems'] {
  return Object.entries(faults).flatMap(([id, detail]) =>
    detail === null ? [] : [{ id, detail, stops_agents: stopsAgents }],
  )
}
