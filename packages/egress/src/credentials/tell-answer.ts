import type { RunInput } from '@flotilla/protocol/run'
import type { Action, Caller, Decision } from '@flotilla/identity/access'
import type { BindingStore } from './binding-file.ts'
import { handleFor } from './handles.ts'
import type { CredentialRequest } from './request-table.ts'

/** The part of the runs module that answers need. Runs depend on credentials and not the reverse. */
interface AnswerRuns {
  readonly queries: { find(runId: string): { readonly input: RunInput } | null }
  readonly queue: {
    submitRun(
      caller: Caller,
      request: { readonly agentId: string; readonly input: RunInput; readonly idempotencyKey: string },
    ): unknown
  }
}

/** Notifies an agent of the answer to its request, by a run of its own in the requesting conversation. */
export function createSendAnswer({
  decide,
  bindings,
  runs,
}: {
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly bindings: Pick<BindingStore, 'bindingOf'>
  readonly runs: AnswerRuns
}): (request: CredentialRequest) => void {
  return (request) => {
    const { agentId, name } = request
    const agentCaller: Caller = { kind: 'agent', agentId, token: 'door', run: null }
    const mayUse = decide(agentCaller, { do: 'use-credential', name }).allowed
    const message = answerText(request, { mayUse, hosts: bindings.bindingOf(name)?.hosts ?? [] })
    const requestingRun = request.runId === null ? null : runs.queries.find(request.runId)
    const session = requestingRun?.input.kind === 'chat' ? requestingRun.input.session : 'default'
    runs.queue.submitRun(
      { kind: 'system' },
      {
        agentId,
        input: { kind: 'chat', message, session },
        idempotencyKey: `credential-request:${request.id}`,
      },
    )
  }
}

/** Returns the notification to the requesting agent, with its next step. Pure. */
export function answerText(
  request: CredentialRequest,
  now: { readonly mayUse: boolean; readonly hosts: readonly string[] },
): string {
  const question = `You asked the owner for the credential ${request.name} (${request.service}).`
  switch (request.state) {
    case 'granted':
      return `${question} The owner has stored the credential. ${howToUse(request.name, now)} Continue the work that needed it.`
    case 'denied':
      return `${question} The owner rejected the request${request.reason === '' ? '' : `: ${request.reason}`}. Continue without the credential, or tell the person or agent that gave you the work that it cannot be done.`
    case 'expired':
      return `${question} No person answered in time. Continue without the credential, or request it again if you still need it.`
    case 'open':
      return `${question} The owner has not answered yet.`
  }
}

function howToUse(
  name: string,
  now: { readonly mayUse: boolean; readonly hosts: readonly string[] },
): string {
  if (!now.mayUse)
    return 'Your permission record does not list the credential yet: ask the owner to add its name to allowed_credentials.'
  if (now.hosts.length === 0)
    return 'The credential is bound to no host yet: ask the owner to bind it to the host that you need.'
  return `Write ${handleFor(name)} in http_request; the mesh inserts the value in requests to ${now.hosts.join(', ')}.`
}
