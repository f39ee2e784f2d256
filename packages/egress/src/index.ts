import type { Agents } from '@flotilla/fleet/agents'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import type { FileEditor } from '@flotilla/foundation/config'
import type { RateLimits } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import type { Runs } from '@flotilla/work/runs'
import { credentialsModule } from './credentials/index.ts'
import type { Secret, Vault } from './credentials/index.ts'
import { egressModule } from './egress/index.ts'
import type { EgressNeeds as OutboundNeeds } from './egress/index.ts'
import { skillsModule } from './skills/index.ts'

export interface EgressNeeds {
  readonly fleet: { readonly agents: Pick<Agents, 'registry' | 'connection'> }
  readonly work: { readonly runs: Pick<Runs, 'queue' | 'queries' | 'lifecycle' | 'holdLease'> }
  readonly access: { readonly rates: RateLimits }
  readonly secrets: { readonly vault: Vault; readonly meshSecret: Secret }
  readonly shares: OutboundNeeds['shares']
  readonly runtime: Pick<SandboxRuntime, 'networks'>
  /** The company proxies of the owner's environment. */
  readonly environment: OutboundNeeds['environment']
  /** The configured addresses of the engine. */
  readonly engineAddresses: readonly string[]
  readonly editor: FileEditor
  /** The file in which the owner binds credentials to hosts. */
  readonly credentialsFile: string
}

/** Creates the modules of egress: credentials, outbound connections, and the check of skills. */
export async function egressModules(kernel: Kernel, needs: EgressNeeds) {
  const { fleet, work, access, secrets, shares, runtime, environment, engineAddresses } = needs
  const { agents } = fleet
  const { runs } = work
  const { rates } = access
  const { vault, meshSecret } = secrets
  const credentials = await credentialsModule(kernel, {
    vault,
    meshSecret,
    editor: needs.editor,
    path: needs.credentialsFile,
    rates,
    runs,
  })
  const egress = egressModule(kernel, {
    environment,
    runtime,
    engineAddresses,
    rates,
    agents,
    runs,
    openCredentials: credentials.api.open,
    vault,
    shares,
  })
  return {
    modules: { skills: skillsModule(kernel), credentials, egress },
    credentials: credentials.api,
    outbound: egress.api,
  }
}
