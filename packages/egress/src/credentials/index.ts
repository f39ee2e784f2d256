import type { CheckEffect } from '@flotilla/identity/policy'
import { createHmac, randomBytes } from 'node:crypto'
import type { RateLimits } from '@flotilla/identity/access'
import type { FileEditor } from '@flotilla/foundation/config'
import type { MeshModule } from '@flotilla/identity/kernel'
import { credentialAgentRoutes } from './agent.routes.ts'
import { createBindingFile } from './binding-file.ts'
import { createCredentialRequests } from './credential-requests.ts'
import { createGenerateSecret } from './generate-secret.ts'
import { createGeneratedTable } from './generated-table.ts'
import { createListUsable } from './list-usable.ts'
import { createManageCredentials } from './manage-credentials.ts'
import { createListForPrograms } from './list-for-programs.ts'
import type { ListForPrograms } from './list-for-programs.ts'
import { placeholderFor } from './placeholder.ts'
import { credentialPeopleRoutes } from './people.routes.ts'
import type { Secret } from './secret.ts'
import { createSendAnswer } from './tell-answer.ts'
import { createUseCredentials } from './use-credentials.ts'
import type { OpenCredentials } from './use-credentials.ts'
import type { Vault } from './vault.ts'
import type { EgressKernel } from '../events/index.ts'

export { readBindings } from './binding-file.ts'
export { destinationOf as addressOf, namesInRequest } from './fill-handles.ts'
export type { HandledRequest } from './fill-handles.ts'
export { handleNames } from './handles.ts'
export { credentialNameOf, meshSecretName } from './credential-tiers.ts'
export { parseEnvText } from './env-file.ts'
export { findMeshSecret, openMeshSecret, placeOfOurs } from './mesh-secret.ts'
export type { MeshSecretDeps } from './mesh-secret.ts'
export { writeSecretFile } from './mesh-secret-file.ts'
export { inOneGo } from '@flotilla/protocol/secret-text/in-steps'
export type { Steps } from '@flotilla/protocol/secret-text/in-steps'
export { redact, redactInSteps } from './redact.ts'
export { createScrubs } from './scrub.ts'
export type { Scrub, ScrubFor } from './scrub.ts'
export type { ListForPrograms, ProgramCredential } from './list-for-programs.ts'
export { createSecret } from './secret.ts'
export { coverageOf, parseHostPattern } from './host-pattern.ts'
export type { HostPattern } from './host-pattern.ts'
export type { Secret } from './secret.ts'
export type { AnswerScrub, Carried, CredentialCall, OpenCredentials } from './use-credentials.ts'
export { createVault } from './vault.ts'
export type { Vault } from './vault.ts'

const fingerprintDigits = 8

/** How other modules use credentials of agents. */
export interface Credentials {
  /** Opens the credentials of an agent for one request that leaves the mesh. */
  readonly open: OpenCredentials
  /** Lists the placeholders in the container of an agent. */
  readonly forPrograms: ListForPrograms
  /** The hosts that the owner bound a credential to. */
  readonly hostsOf: (name: string) => readonly string[]
  /** Returns a keyed digest of a few characters, which distinguishes values; values cannot be guessed offline. */
  readonly fingerprint: (secret: Secret) => string
}

interface Needs {
  readonly vault: Vault
  readonly meshSecret: Secret
  readonly editor: FileEditor
  /** The file in which the owner binds credentials to hosts. */
  readonly path: string
  readonly rates: Pick<RateLimits, 'take'>
  readonly checkEffect: CheckEffect
  readonly runs: Parameters<typeof createSendAnswer>[0]['runs']
}

/** Credentials of agents: their destinations, their users, and requests to the owner. */
export async function credentialsModule(
  kernel: EgressKernel,
  { vault, meshSecret, editor, path, rates, checkEffect, runs }: Needs,
): Promise<MeshModule<Credentials>> {
  const bindings = await createBindingFile({ ...kernel, path, editor })
  const requests = createCredentialRequests({
    ...kernel,
    note: (caller, message) => kernel.egressEvents.agentNotedOwner.publish({ caller, message }),
    deliver: createSendAnswer({ ...kernel, bindings, runs }),
  })
  kernel.fleetEvents.agentDeleted.subscribe(requests.forget)
  const keyed = (value: string) =>
    createHmac('sha256', meshSecret.reveal()).update(`credential\n${value}`).digest('hex')
  const fingerprint = (value: string) => keyed(value).slice(0, fingerprintDigits)
  const manage = createManageCredentials({
    ...kernel,
    vault,
    bindings,
    fingerprint,
    doubts: (url) => kernel.fleetEvents.outboundDoubts.ask({ url, agentId: null }),
    onStored: requests.granted,
  })
  const listUsable = createListUsable({ ...kernel, vault, bindings })
  const generate = createGenerateSecret({
    ...kernel,
    vault,
    table: createGeneratedTable(kernel.database),
    fingerprint: keyed,
    randomBytes,
  })
  // Limits how often an agent calls the vault. Each request with filled handles counts too.
  const rate = { take: (agentId: string) => rates.take(agentId, 'credentials') }
  const placeholders = new WeakMap<Secret, Map<string, string>>()
  const placeholderOf = (agentId: string, secret: Secret): string => {
    const known = placeholders.get(secret) ?? new Map<string, string>()
    placeholders.set(secret, known)
    const { name } = secret
    const text =
      known.get(agentId) ?? placeholderFor(meshSecret.reveal(), { agentId, name, value: secret.reveal() })
    known.set(agentId, text)
    return text
  }
  return {
    api: {
      open: createUseCredentials({ ...kernel, vault, bindings, rate, checkEffect, placeholderOf }),
      forPrograms: createListForPrograms({ ...kernel, vault, bindings, placeholderOf }),
      hostsOf: (name) => bindings.bindingOf(name)?.hosts ?? [],
      fingerprint: (secret) => fingerprint(secret.reveal()),
    },
    routes: {
      people: (surface) => credentialPeopleRoutes(surface, { manage, requests }),
      agent: (surface) => credentialAgentRoutes(surface, { listUsable, generate, requests }),
    },
    maintain: requests.sweep,
    close: () => bindings.close(),
  }
}
