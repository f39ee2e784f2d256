import { X509Certificate } from 'node:crypto'
import type { InspectionView, PinnedHost } from '@flotilla/protocol/inspection-api'
import { Problem } from '@flotilla/protocol/problem'
import { inspectedHost } from '@flotilla/foundation/config'
import type { Settings, SettingsFile } from '@flotilla/foundation/config'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Authority } from './authority/sign-certificate.ts'
import type { HandshakeFailures } from './handshake-failures.ts'
import { isInspected } from './is-inspected.ts'

/** The owner's operations on inspected hosts. Problems `denied`, `bad-request`, `not-found`. */
export interface ManageInspection {
  view(caller: Caller): InspectionView
  inspect(caller: Caller, host: string): Promise<InspectionView>
  /** The host is in neither list; a `*.domain` of one of them may contain it. */
  release(caller: Caller, host: string): Promise<InspectionView>
  /** The host stays a tunnel, also where an inspected `*.domain` contains it. */
  tunnel(caller: Caller, host: string): Promise<InspectionView>
  /** For `doctor`. */
  pinned(): { readonly inspected: number; readonly tunnels: string[]; readonly pinned: PinnedHost[] }
}

export function createManageInspection(deps: {
  readonly guard: Guard
  readonly journal: Journal
  readonly settings: () => Settings
  readonly settingsFile: Pick<SettingsFile, 'editAll'>
  readonly authority: Authority
  readonly failures: Pick<HandshakeFailures, 'list' | 'pinned'>
}): ManageInspection {
  const { fingerprint256 } = new X509Certificate(deps.authority.certificate)

  function show(): InspectionView {
    const { inspected_hosts: hosts, tunnel_hosts: tunnels } = deps.settings().egress
    return {
      hosts: [...hosts],
      tunnels: [...tunnels],
      pinned: seemsPinned(),
      authority: fingerprint256,
      failures: deps.failures.list(),
    }
  }

  /** Hosts that the owner has made tunnels meanwhile need no decision any more. */
  function seemsPinned(): PinnedHost[] {
    const lists = deps.settings().egress
    return deps.failures.pinned().filter(({ host }) => isInspected(host, lists))
  }

  function requireHost(text: string): string {
    const host = text.toLowerCase()
    const parsed = inspectedHost.safeParse(host)
    if (parsed.success) return host
    throw new Problem('bad-request', {
      detail: `${text.slice(0, 100)} cannot be inspected: ${parsed.error.issues[0]?.message ?? 'not a host'}`,
    })
  }

  async function change(
    caller: Caller,
    { action, host }: { readonly action: string; readonly host: string },
    into: { readonly inspected: boolean; readonly tunnels: boolean },
  ): Promise<InspectionView> {
    const next = (hosts: readonly string[], isIn: boolean) => [
      ...hosts.filter((known) => known !== host),
      ...(isIn ? [host] : []),
    ]
    await deps.settingsFile.editAll(({ egress }) => [
      { field: ['egress', 'inspected_hosts'], value: next(egress.inspected_hosts, into.inspected) },
      { field: ['egress', 'tunnel_hosts'], value: next(egress.tunnel_hosts, into.tunnels) },
    ])
    deps.journal.append({ actor: actorOf(caller), action, subject: host, detail: {} })
    return show()
  }

  return {
    view(caller) {
      deps.guard(caller, { do: 'manage-credentials' })
      return show()
    },
    async inspect(caller, text) {
      deps.guard(caller, { do: 'manage-credentials' })
      const host = requireHost(text)
      const to = { inspected: true, tunnels: false }
      return change(caller, { action: 'egress.host-inspected', host }, to)
    },
    async release(caller, text) {
      deps.guard(caller, { do: 'manage-credentials' })
      const host = text.toLowerCase()
      const { inspected_hosts: hosts, tunnel_hosts: tunnels } = deps.settings().egress
      if (![...hosts, ...tunnels].includes(host)) {
        throw new Problem('not-found', {
          detail: `${text.slice(0, 100)} is not inspected; flotilla egress list shows the inspected hosts`,
        })
      }
      const to = { inspected: false, tunnels: false }
      return change(caller, { action: 'egress.host-released', host }, to)
    },
    async tunnel(caller, text) {
      deps.guard(caller, { do: 'manage-credentials' })
      const host = requireHost(text)
      const to = { inspected: false, tunnels: true }
      return change(caller, { action: 'egress.host-tunneled', host }, to)
    },
    pinned: () => {
      const { inspected_hosts: hosts, tunnel_hosts: tunnels } = deps.settings().egress
      return { inspected: hosts.length, tunnels: [...tunnels], pinned: seemsPinned() }
    },
  }
}
