import { operatorAgentId } from '@flotilla/protocol/ids'
import { capabilityPrefix, messageLimits } from '@flotilla/protocol/message-limits'
import { nearestName } from '@flotilla/protocol/nearest-name'
import type { Origin } from '@flotilla/protocol/origin'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { unattendedSession } from '@flotilla/protocol/unattended-session'
import type { Caller, HumanCaller } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { RunRecord } from '@flotilla/work/runs'
import { chooseRecipient } from './choose-recipient.ts'
import { announceMessage } from './message-deps.ts'
import type { MessageDeps } from './message-deps.ts'
import type { MessageRecord } from './message-table.ts'
import { runLimits } from '@flotilla/work/runs'

export interface SendMessageInput {
  /** The id of an agent, or `capability:NAME` for any agent that declares it. */
  readonly to: string
  readonly text: string
  readonly idempotencyKey?: string | null | undefined
}

/**
 * Asks another agent a question without waiting: the message and the run that answers it are rows of one transaction.
 * A worker's message to the operator starts a run only on behalf of a person who may give the operator work;
 * otherwise it is kept for the operator's next heartbeat. Problems: `denied`, `stale-fence`, `unknown-agent`,
 * `no-capable-agent`, `hand-off-refused` for a loop or a depth over 8, `messages-exhausted`, and those of
 * `submitRun`.
 */
export type SendMessage = (caller: Caller, input: SendMessageInput) => MessageRecord

/** The sender, and the runs that it works for, nearest first. */
interface Asking {
  readonly agentId: string
  readonly run: RunRecord
  readonly chain: readonly RunRecord[]
  readonly root: RunRecord
}

interface Addressee {
  readonly recipient: string
  readonly capability: string | null
}

export function createSendMessage(deps: MessageDeps): SendMessage {
  const { database, guard, table, events } = deps
  return (caller, input) => {
    const named = input.to.startsWith(capabilityPrefix) ? null : input.to
    guard(caller, named === null ? { do: 'list-agents' } : { do: 'message-agent', to: named })
    return database.transaction(() => {
      const asking = askingOf(deps, caller)
      const known = earlier(deps, asking, input)
      if (known) return known
      requireRoom(deps, asking)
      const addressee: Addressee =
        named === null
          ? findCapableAgent(deps, { caller, asking, capability: input.to.slice(capabilityPrefix.length) })
          : { recipient: named, capability: null }
      refuseLoops(asking, addressee.recipient)
      const message = enter(deps, { caller, asking, addressee, input })
      table.insert(message)
      record(deps, caller, message)
      announceMessage(events, message)
      return message
    })
  }
}

function askingOf({ runs }: MessageDeps, caller: Caller): Asking {
  if (caller.kind !== 'agent')
    throw new Problem('denied', { detail: 'only an agent may send messages to agents' })
  if (!caller.run)
    throw new Problem('stale-fence', { detail: 'only a run that is in progress may send a message' })
  runs.live.ticketOf(caller.run.runId, caller.run.fence)
  const chain = runs.chainOf(caller.run.runId)
  const [run] = chain
  const root = chain.at(-1)
  if (!run || !root) throw new Problem('stale-fence')
  return { agentId: caller.agentId, run, chain, root }
}

/** Returns the message that this key created before, in its current state, or null. `conflict` for another call. */
function earlier({ table }: MessageDeps, asking: Asking, input: SendMessageInput): MessageRecord | null {
  const key = input.idempotencyKey ?? null
  const known = key === null ? null : table.findByKey(asking.agentId, asking.run.id, key)
  if (!known) return null
  const to = known.capability === null ? known.recipient : `${capabilityPrefix}${known.capability}`
  if (known.text === input.text && to === input.to) return known
  throw new Problem('conflict', { detail: 'this idempotency key was used for another request' })
}

/** Throws the problem `messages-exhausted` at the limit of one run, or of all runs that one trigger caused. */
function requireRoom({ table }: MessageDeps, { run, root }: Asking): void {
  const { perRunMax, perStimulusMax } = messageLimits
  if (table.countOfRun(run.id) >= perRunMax) {
    throw new Problem('messages-exhausted', {
      detail: `this run has sent ${perRunMax} messages, the maximum for one run`,
    })
  }
  if (table.countOfRoot(root.id) >= perStimulusMax) {
    throw new Problem('messages-exhausted', {
      detail: `${perStimulusMax} messages were sent by run ${root.id} and the runs below it, the maximum for one trigger`,
    })
  }
}

/** Refuses the sender itself, too long a chain, and agents in the chain: they wait for this run's result already. */
function refuseLoops({ agentId, run, chain }: Asking, to: string): void {
  if (to === agentId)
    throw new Problem('bad-request', { detail: 'an agent may not send a message to itself' })
  if (run.depth + 1 > runLimits.handOffDepthMax) {
    throw new Problem('hand-off-refused', {
      detail: `the chain of hand-offs and messages is at its limit of ${runLimits.handOffDepthMax} agents`,
    })
  }
  if (chain.some((above) => above.agentId === to)) {
    throw new Problem('hand-off-refused', {
      detail: `agent ${to} already waits for the result of this run, and receives your answer without a message`,
    })
  }
}

/**
 * Returns an agent that declares the capability, works now and accepts work. Considers only agents that
 * the caller may message, so that the caller learns nothing about others. Problem `no-capable-agent`.
 */
function findCapableAgent(
  deps: MessageDeps,
  request: { readonly caller: Caller; readonly asking: Asking; readonly capability: string },
): Addressee {
  const { agents, runs, capabilities, decide, workEvents } = deps
  const { caller, asking, capability } = request
  const above = new Set(asking.chain.map((run) => run.agentId))
  const mayAsk = (agentId: string): boolean =>
    agentId !== asking.agentId &&
    agentId !== operatorAgentId &&
    !above.has(agentId) &&
    agents.find(agentId) !== null &&
    !agents.isArchived(agentId) &&
    agents.failureOf(agentId) === null &&
    workEvents.reasonsToGiveNoWork.ask(agentId).length === 0 &&
    decide(caller, { do: 'message-agent', to: agentId }).allowed
  const capable = capabilities.declaring(capability).filter(mayAsk)
  if (capable.length === 0) {
    const known = capabilities.all().filter((name) => capabilities.declaring(name).some(mayAsk))
    throw noCapableAgent(capability, known)
  }
  const free = capable.filter((agentId) => !runs.isLaneFull({ agentId, proactive: asking.run.proactive }))
  // If every lane is full, a message goes to an agent anyway; the refusal states when to retry.
  const candidates = (free.length > 0 ? free : capable).map((agentId) => ({
    agentId,
    ...runs.laneOf(agentId),
  }))
  return { recipient: chooseRecipient(candidates) ?? capable[0] ?? '', capability }
}

function noCapableAgent(capability: string, known: readonly string[]): Problem {
  const nearest = nearestName(capability, known)
  const meant = nearest === null ? '' : `; did you mean ${nearest}?`
  const there =
    known.length === 0 ? 'no such agent declares a capability' : `declared: ${known.join(', ').slice(0, 500)}`
  return new Problem('no-capable-agent', {
    detail: `no available agent that you may message declares ${capability}${meant} (${there})`,
  })
}

function enter(
  deps: MessageDeps,
  given: {
    readonly caller: Caller
    readonly asking: Asking
    readonly addressee: Addressee
    readonly input: SendMessageInput
  },
): MessageRecord {
  const { runs, agents, table, newId, clock } = deps
  const { caller, asking, addressee, input } = given
  const fresh = {
    id: newId('msg'),
    sender: asking.agentId,
    ...addressee,
    text: input.text,
    asking_run_id: asking.run.id,
    root_run_id: asking.root.id,
    idempotency_key: input.idempotencyKey ?? null,
    answer: null,
    created_at: clock.now(),
    answered_at: null,
  }
  if (addressee.recipient === operatorAgentId && !mayWakeOperator(deps, asking)) {
    agents.requireWorking(operatorAgentId)
    requireRoomToKeep(table, asking.agentId)
    return { ...fresh, state: 'kept', run_id: null }
  }
  const run = runs.submitRun(caller, {
    agentId: addressee.recipient,
    // The recipient has one session for each sender, so all messages of this sender continue one conversation.
    input: {
      kind: 'chat',
      message: asPrompt(asking.agentId, input.text),
      session: unattendedSession.agent(asking.agentId),
    },
    parent: asking.run,
  })
  return { ...fresh, state: 'sent', run_id: run.id }
}

/** Limits kept messages, in total and of each worker, so that one worker with many does not block the others. */
function requireRoomToKeep(table: MessageDeps['table'], sender: string): void {
  const { keptMax, keptPerSenderMax } = messageLimits
  if (table.keptCountOf(sender, operatorAgentId) >= keptPerSenderMax) {
    throw new Problem('messages-exhausted', {
      detail: `${keptPerSenderMax} messages of ${sender} wait for the next heartbeat of the operator, the maximum for one agent`,
    })
  }
  if (table.keptCount(operatorAgentId) >= keptMax) {
    throw new Problem('messages-exhausted', {
      detail: `${keptMax} messages wait for the next heartbeat of the operator, the maximum for the fleet`,
    })
  }
}

/**
 * True if a person started the work above this run (not a job, hook or watcher), may give the operator work now, and
 * so may everyone who steered it. Otherwise a person with access to one worker could command the operator through it.
 */
function mayWakeOperator({ people, decide, runs }: MessageDeps, { run }: Asking): boolean {
  if (run.proactive) return false
  return runs.requestersOf(run.id).every((origin) => {
    const behind = origin.kind === 'human' ? personBehind(people, origin) : null
    return behind !== null && decide(behind, { do: 'submit-run', to: operatorAgentId }).allowed
  })
}

/** Returns the person who started the run, with current permissions; null if removed from the people file. */
function personBehind(people: MessageDeps['people'], { channel, user }: Origin): HumanCaller | null {
  // Every person except the owner of this machine has a name from authentication.
  if (user === undefined) return { kind: 'human', channel, role: 'owner' }
  const person = people.byName(user)
  if (!person) return null
  const { name, role, agents } = person
  return { kind: 'human', channel, user: name, person: name, role, agents }
}

/** Names the sender, because one conversation can contain several; the text is untrusted input from another agent. */
function asPrompt(sender: string, text: string): string {
  return sanitizeForPrompt(
    `Message of agent ${sender}. The last text of your turn is sent to it as the answer.\n\n${text}`,
  )
}

function record({ journal }: MessageDeps, caller: Caller, message: MessageRecord): void {
  const { id, recipient, capability, run_id: run, asking_run_id: asking, state } = message
  journal.append({
    actor: actorOf(caller),
    action: `message.${state}`,
    subject: id,
    detail: { to: recipient, capability, run, asking },
  })
}
