import { X509Certificate } from 'node:crypto'
import type { InspectionView } from '@flotilla/protocol/inspection-api'
import { Problem } from '@flotilla/protocol/problem'
import { inspectedHost } from '@flotilla/foundation/config'
import type { Settings, SettingsFile } from '@flotilla/foundation/config'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Authority } from './authority/sign-certificate.ts'
import type { HandshakeFailures } from './handshake-failures.ts'

/** The owner's operations on inspected hosts. Problems `denied`, `bad-request`, `not-found`. */
export interface ManageInspection {
  view(caller: Caller): InspectionView
  inspect(caller: Caller, host: string): Promise<InspectionView>
  release(caller: Caller, host: string): Promise<InspectionView>
}

export function createManageInspection(deps: {
  readonly guard: Guard
  readonly journal: Journal
  readonly settings: () => Settings
  readonly settingsFile: Pick<SettingsFile, 'editAll'>
  readonly authority: Authority
  readonly failures: Pick<HandshakeFailures, 'list'>
}): ManageInspection {
  const { fingerprint256 } = new X509Certificate(deps.authority.certificate)

  function show(): InspectionView {
    const hosts = deps.settings().egress.inspected_hosts
    return { hosts: [...hosts], authority: fingerprint256, failures: deps.failures.list() }
  }

  async function change(
    caller: Caller,
    { action, host }: { readonly action: string; readonly host: string },
    next: (hosts: readonly string[]) => readonly string[],
  ): Promise<InspectionView> {
    await deps.settingsFile.editAll(({ egress }) => [
      { field: ['egress', 'inspected_hosts'], value: next(egress.inspected_hosts) },
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
      const host = text.toLowerCase()
      const parsed = inspectedHost.safeParse(host)
      if (!parsed.success) {
        throw new Problem('bad-request', {
          detail: `${text.slice(0, 100)} cannot be inspected: ${parsed.error.issues[0]?.message ?? 'not a host'}`,
        })
      }
      return change(caller, { action: 'egress.host-inspected', host }, (hosts) => [
        ...hosts.filter((known) => known !== host),
        host,
      ])
    },
    async release(caller, text) {
      deps.guard(caller, { do: 'manage-credentials' })
      const host = text.toLowerCase()
      if (!deps.settings().egress.inspected_hosts.includes(host)) {
        throw new Problem('not-found', {
          detail: `${text.slice(0, 100)} is not inspected; flotilla egress list shows the inspected hosts`,
        })
      }
      return change(caller, { action: 'egress.host-released', host }, (hosts) =>
        hosts.filter((known) => known !== host),
      )
    },
  }
}
