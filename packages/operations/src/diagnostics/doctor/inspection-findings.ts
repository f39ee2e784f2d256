import type { PinnedHost } from '@flotilla/protocol/inspection-api'
import { ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/**
 * Reports inspected hosts whose programs seem to accept only the host's own certificate. They stay inspected until the
 * owner decides, because a tunnel would let requests leave that no rule has decided. Pure.
 */
export function inspectionFindings({
  inspected,
  tunnels,
  pinned,
}: {
  /** How many entries the list of inspected hosts has. */
  readonly inspected: number
  readonly tunnels: readonly string[]
  readonly pinned: readonly PinnedHost[]
}): readonly DoctorFinding[] {
  if (inspected === 0 && tunnels.length === 0) return []
  const decided = tunnels.length === 0 ? '' : `; stay tunnels, as the owner decided: ${tunnels.join(', ')}`
  return [
    ok('inspection', `entries of inspected hosts: ${inspected}${decided}`),
    ...pinned.map(({ host, agent_ids: agents, count }) =>
      warning(
        'inspection',
        `programs of ${agents.join(', ')} closed ${count} connections to the inspected host ${host} and sent no request since; they may not accept the certificate of the fleet`,
        `If they accept only the host's own certificate: flotilla egress tunnel ${host}; the mesh then neither decides nor records requests to it. If their run began before the host was inspected, start it again.`,
      ),
    ),
  ]
}
