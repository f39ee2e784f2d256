import type { Credentials } from '@flotilla/egress/credentials'
import type { Egress } from '@flotilla/egress/egress'
import type { Agents } from '@flotilla/fleet/agents'
import type { Kernel } from '@flotilla/identity/kernel'
import type { Spending } from '@flotilla/inference/spending'
import type { Runs } from '@flotilla/work/runs'
import { browserModule } from './browser-module.ts'
import type { BrowserNeeds } from './browser-module.ts'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { FleetEvents } from '@flotilla/fleet/events'
import type { WorkEvents } from '@flotilla/work/events'

export type { Browsers } from './browser-module.ts'

export interface BrowsingNeeds {
  readonly identity: { readonly events: IdentityEvents }
  readonly fleet: {
    readonly events: FleetEvents
    readonly agents: Pick<Agents, 'registry' | 'connection' | 'meshIdentity'>
  }
  readonly work: { readonly events: WorkEvents; readonly runs: Pick<Runs, 'delivery' | 'holdLease'> }
  readonly egress: {
    readonly credentials: Pick<Credentials, 'open'>
    readonly outbound: Pick<Egress, 'browsers' | 'fetchForMesh'>
  }
  readonly inference: { readonly spending: Pick<Spending, 'reserve' | 'settle' | 'refund'> }
  readonly foundation: { readonly shares: BrowserNeeds['shares'] }
  readonly runtime: BrowserNeeds['runtime']
  /** The environment of the process, from which the CAPTCHA solver's keys are read, and never from a file. */
  readonly env: BrowserNeeds['env']
  readonly briefsFolder: string
  /** The folder from which packages are resolved. */
  readonly repositoryRoot: string
}

/** Creates the module of browsing: a browser for each agent, in a container of its own. */
export async function browsingModules(kernel: Kernel, needs: BrowsingNeeds) {
  const { identity, fleet, work, egress, inference, foundation, runtime, env, briefsFolder, repositoryRoot } =
    needs
  const seen = {
    ...kernel,
    identityEvents: identity.events,
    fleetEvents: fleet.events,
    workEvents: work.events,
  }
  const browser = await browserModule(seen, {
    runtime,
    agents: fleet.agents,
    runs: work.runs,
    egress: egress.outbound,
    spending: inference.spending,
    env,
    openCredentials: egress.credentials.open,
    shares: foundation.shares,
    briefsFolder,
    repositoryRoot,
  })
  return { modules: { browser }, browsers: browser.api }
}
