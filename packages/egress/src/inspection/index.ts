import { randomUUID } from 'node:crypto'
import { homeTag } from '@flotilla/fleet/sandbox'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { HeldBytes, LoopShare } from '@flotilla/foundation/intake'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { CallRate } from '@flotilla/identity/access'
import type { PolicyChecks } from '@flotilla/identity/policy'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { Credentials } from '../credentials/index.ts'
import type { Egress } from '../egress/index.ts'
import type { EgressKernel } from '../events/index.ts'
import { createKeptBodyTable } from './asked/kept-body-table.ts'
import { createOpenAnswers } from './asked/open-answers.ts'
import { createProgramRequests, programRequestKind } from './asked/program-requests.ts'
import { createSendKept } from './asked/send-kept.ts'
import { createHostCertificates } from './authority/host-certificates.ts'
import { openAuthority } from './authority/open-authority.ts'
import { createHandshakeFailures } from './handshake-failures.ts'
import { isInspected } from './is-inspected.ts'
import { createManageInspection } from './manage-inspection.ts'
import { inspectionInternalRoutes, inspectionPeopleRoutes } from './people.routes.ts'
import { placeholderFiles } from './programs/placeholder-files.ts'
import { readPublicAuthorities, trustedFiles } from './programs/trusted-files.ts'
import { createInspectedServer } from './terminate/inspected-server.ts'
import { createSecureServer } from './terminate/secure-server.ts'
import { createTakeTurn } from './take-turn.ts'

export interface InspectionNeeds {
  readonly homeId: string
  /** The file with the key and the certificate of the fleet's authority. */
  readonly authorityFile: string
  readonly settingsFile: Pick<SettingsFile, 'editAll'>
  readonly egress: Pick<Egress, 'inspectBy' | 'dialFor' | 'approved'>
  readonly approvals: Pick<ApprovalDesk, 'addKind'>
  /** Counts the bytes of bodies that are kept for a person while they arrive. */
  readonly held: HeldBytes
  readonly credentials: Pick<Credentials, 'open' | 'forPrograms'>
  readonly loop: Pick<LoopShare, 'spend' | 'require' | 'turn'>
  readonly rate: Pick<CallRate, 'take'>
  readonly checkEffect: PolicyChecks
}

/** Creates the inspection module: terminates TLS for hosts that the owner names, and decides each request to them. */
export async function inspectionModule(kernel: EgressKernel, needs: InspectionNeeds): Promise<MeshModule> {
  const { clock, log } = kernel
  const authority = await openAuthority({
    path: needs.authorityFile,
    homeTag: homeTag(needs.homeId),
    now: clock.now(),
    log,
  })
  const trust = trustedFiles(authority.certificate, await readPublicAuthorities())
  const hosts = () => kernel.settings().egress.inspected_hosts
  const failures = createHandshakeFailures({ clock })
  kernel.fleetEvents.agentDeleted.subscribe(failures.forget)
  // Without an inspected host no placeholder could be replaced, and no certificate of the fleet is seen.
  kernel.fleetEvents.programSetups.subscribe((agentId) =>
    hosts().length === 0 ? [] : [trust, placeholderFiles(needs.credentials.forPrograms(agentId))],
  )
  const takeTurn = createTakeTurn({ ...kernel, ...needs, credentials: needs.credentials.open })
  const secure = createSecureServer()
  const asked = createProgramRequests({
    ...needs,
    approved: needs.egress.approved,
    database: kernel.database,
    bodies: createKeptBodyTable(kernel.database),
    answers: createOpenAnswers({ clock }),
    send: createSendKept({ takeTurn, dialFor: needs.egress.dialFor, secure, clock }),
    holdMs: () => kernel.settings().egress.hold_asked_seconds * 1000,
  })
  needs.approvals.addKind(programRequestKind, asked.kind)
  needs.egress.inspectBy({
    isInspected: (host) => isInspected(host, kernel.settings().egress),
    serve: createInspectedServer({
      certificateOf: createHostCertificates({ authority, clock }),
      takeTurn,
      ask: asked.ask,
      secure,
      onHandshakeFailed: ({ identity, destination }, why) => {
        const { agentId } = identity.caller
        const { host } = destination
        const noted = failures.note(agentId, host, why)
        if (noted === 'pinned')
          log.warn(
            { agentId, host, why },
            'programs of an agent may not accept the certificate of the fleet for an inspected host; next: run flotilla egress tunnel with the host if they accept only its own; the mesh then neither decides nor records their requests',
          )
        // One connection without a request is no failure.
        else if (noted === 'first' && why !== 'unused')
          log.warn(
            { agentId, host, why },
            'a program did not complete TLS for an inspected host; its connection was closed',
          )
      },
      onServed: ({ identity, destination }) => failures.served(identity.caller.agentId, destination.host),
      newRequestId: randomUUID,
      clock,
      log,
    }),
  })
  const manage = createManageInspection({ ...kernel, settingsFile: needs.settingsFile, authority, failures })
  return {
    api: {},
    routes: {
      people: (surface) => inspectionPeopleRoutes(surface, manage),
      internal: (surface) => inspectionInternalRoutes(surface, manage),
    },
  }
}
