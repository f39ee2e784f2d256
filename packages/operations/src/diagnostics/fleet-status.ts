import type { meshHumanApi } from '@flotilla/protocol/mesh-human-api'
import type * as z from 'zod'
import type { Caller, Guard } from '@flotilla/identity/access'
import { isAtTerminal, requireOwner } from '@flotilla/identity/access'
import type { Metric } from '@flotilla/identity/kernel'
import { productVersion } from '@flotilla/foundation/platform'
import type { Readiness } from './doctor/judge-readiness.ts'

type Sent = z.input<(typeof meshHumanApi)['status']['response']>
type Status = { readonly [Key in keyof Sent]: Readonly<Sent[Key]> }

/** What the status needs beyond the modules' own counts. */
export interface StatusNeeds {
  readonly home: { readonly folder: string; readonly pid: number }
  readonly uptimeSeconds: () => number
  readonly runtime: () => Status['runtime']
  readonly defaultModel: () => Status['default_model']
  readonly pauses: () => Status['pauses']
  readonly walletHalt: () => Status['wallet_halt']
  /** Notices about settings without effect, for owners. */
  readonly notices: () => readonly string[]
  readonly agents: () => Status['agents']
  readonly runs: () => Status['runs']
  readonly readiness: () => Readiness
  /** Metrics of all modules. */
  readonly metrics: () => readonly Metric[]
}

/** The state of the whole fleet, also as Prometheus metrics. */
export interface FleetStatus {
  read(caller: Caller): Status
  /** Allowed for the owner only. */
  metrics(caller: Caller): readonly Metric[]
}

export function createFleetStatus(deps: { readonly guard: Guard }, needs: StatusNeeds): FleetStatus {
  const { guard } = deps
  return {
    read: (caller) => {
      guard(caller, { do: 'view-fleet' })
      return {
        version: productVersion,
        home: needs.home.folder,
        pid: needs.home.pid,
        uptime_seconds: Math.round(needs.uptimeSeconds()),
        runtime: needs.runtime(),
        default_model: needs.defaultModel(),
        ready: needs.readiness(),
        pauses: needs.pauses(),
        wallet_halt: isAtTerminal(caller) ? needs.walletHalt() : null,
        notices: isAtTerminal(caller) ? [...needs.notices()] : [],
        agents: needs.agents(),
        runs: needs.runs(),
      }
    },
    metrics: (caller) => {
      requireOwner(caller, 'read the metrics')
      guard(caller, { do: 'view-fleet' })
      return needs.metrics()
    },
  }
}
