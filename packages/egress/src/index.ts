import type { Agents } from '@flotilla/fleet/agents'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import type { DataPaths, FileEditor, SettingsFile } from '@flotilla/foundation/config'
import type { RateLimits } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import type { Runs } from '@flotilla/work/runs'
import { credentialsModule } from './credentials/index.ts'
import type { Secret, Vault } from './credentials/index.ts'
import { inspectionModule } from './inspection/index.ts'
import { egressModule } from './egress/index.ts'
import type { EgressNeeds as OutboundNeeds } from './egress/index.ts'
import { skillsModule } from './skills/index.ts'
import { createEgressEvents } from './events/index.ts'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { FleetEvents } from '@flotilla/fleet/events'
import type { WorkEvents } from '@flotilla/work/events'

export interface EgressNeeds {
  readonly identity: { readonly events: IdentityEvents }
  readonly fleet: { readonly events: FleetEvents; readonly agents: Pick<Agents, 'registry' | 'connection'> }
  readonly work: {
    readonly events: WorkEvents
    readonly runs: Pick<Runs, 'queue' | 'queries' | 'lifecycle' | 'holdLease'>
    readonly approvals: OutboundNeeds['approvals']
    readonly checkEffect: OutboundNeeds['checkEffect']
  }
  readonly access: { readonly rates: RateLimits }
  readonly secrets: { readonly vault: Vault; readonly meshSecret: Secret }
  readonly foundation: {
    readonly editor: FileEditor
    readonly settingsFile: Pick<SettingsFile, 'editAll'>
    readonly shares: OutboundNeeds['shares']
    readonly effects: OutboundNeeds['effects']
  }
  readonly runtime: Pick<SandboxRuntime, 'networks'>
  /** The company proxies that the environment of the owner sets. */
  readonly environment: OutboundNeeds['environment']
  /** The configured addresses of the engine. */
  readonly engineAddresses: readonly string[]
  /** The id of the home, and the files in which credentials are bound to hosts and the fleet's authority is stored. */
  readonly home: {
    readonly id: string
    readonly files: Pick<DataPaths, 'credentialsFile' | 'inspectionAuthority'>
  }
}

/** Creates the modules of egress: credentials, outbound connections, and the check of skills. */
export async function egressModules(kernel: Kernel, needs: EgressNeeds) {
  const { identity, fleet, work, access, secrets, runtime, environment, engineAddresses, home } = needs
  const events = createEgressEvents()
  const seen = {
    ...kernel,
    identityEvents: identity.events,
    fleetEvents: fleet.events,
    workEvents: work.events,
    egressEvents: events,
  }
  const { agents } = fleet
  const { runs } = work
  const { rates } = access
  const { vault, meshSecret } = secrets
  const { editor, settingsFile, shares, effects } = needs.foundation
  const credentials = await credentialsModule(seen, {
    vault,
    meshSecret,
    editor,
    path: home.files.credentialsFile,
    rates,
    checkEffect: work.checkEffect,
    runs,
  })
  const egress = egressModule(seen, {
    environment,
    runtime,
    engineAddresses,
    rates,
    agents,
    runs,
    openCredentials: credentials.api.open,
    vault,
    shares,
    effects,
    approvals: work.approvals,
    checkEffect: work.checkEffect,
  })
  const inspection = await inspectionModule(seen, {
    homeId: home.id,
    authorityFile: home.files.inspectionAuthority,
    settingsFile,
    egress: egress.api,
    credentials: credentials.api,
    approvals: work.approvals,
    held: shares.held.replies,
    loop: shares.calls,
    checkEffect: work.checkEffect,
    rate: { take: (agentId) => rates.take(agentId, 'http') },
  })
  return {
    modules: { skills: skillsModule(seen), credentials, egress, inspection },
    events,
    credentials: credentials.api,
    outbound: egress.api,
  }
}
