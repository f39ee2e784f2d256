import { createHmac, randomBytes } from 'node:crypto'
import type { FileEditor } from '../config/atomic-file.ts'
import type { DataPaths } from '../config/data-paths.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../platform/log.ts'
import type { Notes } from '../collaboration/notes/notes.ts'
import type { Action, Decision, Guard } from '../access/action.ts'
import type { Caller } from '../access/caller.ts'
import type { RateLimits } from '../access/rate-limits.ts'
import type { Ledger } from '../runs/ledger.ts'
import type { Database } from '../storage/database.ts'
import { randomId, systemClock } from '../platform/system-clock.ts'
import { answerText } from '../credentials/answer-text.ts'
import { createBindingFile } from '../credentials/binding-file.ts'
import { createCredentialRequests } from '../credentials/credential-requests.ts'
import { createGenerateSecret } from '../credentials/generate-secret.ts'
import { createListUsable } from '../credentials/list-usable.ts'
import { createManageCredentials } from '../credentials/manage-credentials.ts'
import type { CredentialRequest } from '../credentials/request-table.ts'
import type { Secret } from '../credentials/secret.ts'
import { createUseCredentials } from '../credentials/use-credentials.ts'
import type { Vault } from '../credentials/vault.ts'

const fingerprintDigits = 8

/** Credentials of agents: where they go, who may use them, and what the owner is asked. */
export async function composeVault(parts: {
  readonly vault: Vault
  readonly meshSecret: Secret
  readonly paths: DataPaths
  readonly editor: FileEditor
  readonly rates: RateLimits
  readonly database: Database
  readonly journal: Journal
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly notes: Notes
  readonly ledger: Ledger
  readonly log: Log
}) {
  const { vault, guard, decide, journal, ledger, log } = parts
  const clock = systemClock
  const bindings = await createBindingFile({
    path: parts.paths.credentialsFile,
    editor: parts.editor,
    clock,
    log,
  })
  // Questions to the vault are counted at the agent door; each request that is filled in counts as well.
  const rate = { take: (agentId: string) => parts.rates.take(agentId, 'credentials') }

  /** The answer comes as work of its own, in the conversation that asked. */
  function tell(request: CredentialRequest): void {
    const asker: Caller = { kind: 'agent', agentId: request.agentId, token: 'door', run: null }
    const mayUse = decide(asker, { do: 'use-credential', name: request.name }).allowed
    const message = answerText(request, { mayUse, hosts: bindings.bindingOf(request.name)?.hosts ?? [] })
    const asked = request.runId === null ? null : ledger.find(request.runId)
    const session = asked?.input.kind === 'chat' ? asked.input.session : 'default'
    ledger.submitRun(
      { kind: 'system' },
      {
        agentId: request.agentId,
        input: { kind: 'chat', message, session },
        idempotencyKey: `credential-request:${request.id}`,
      },
    )
  }

  const requests = createCredentialRequests({
    database: parts.database,
    guard,
    journal,
    clock,
    newId: randomId,
    log,
    note: (caller, message) => void parts.notes.notifyOwner(caller, { message }),
    tell,
  })
  const keyed = (value: string) =>
    createHmac('sha256', parts.meshSecret.reveal()).update(`credential\n${value}`).digest('hex')
  const fingerprint = (value: string) => keyed(value).slice(0, fingerprintDigits)
  return {
    bindings,
    requests,
    open: createUseCredentials({ vault, bindings, guard, decide, rate, journal }),
    generate: createGenerateSecret({
      vault,
      guard,
      database: parts.database,
      journal,
      fingerprint: keyed,
      randomBytes,
    }),
    listUsable: createListUsable({ vault, bindings, guard, decide }),
    manage: createManageCredentials({
      vault,
      bindings,
      guard,
      journal,
      fingerprint,
      onStored: requests.granted,
    }),
  }
}

export type VaultRoom = Awaited<ReturnType<typeof composeVault>>
