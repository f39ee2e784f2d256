import { isDeepStrictEqual } from 'node:util'
import { agentSizeSchema, isSameAgentSize, limitsOf } from '@flotilla/protocol/agent-size'
import type { AgentSizeSet } from '@flotilla/protocol/agent-size'
import { agentIdSchema } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { sizeApprovalKind } from '@flotilla/protocol/resource-requests-api'
import type { resourceRequestApi } from '@flotilla/protocol/resource-requests-api'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { quoted } from '@flotilla/protocol/shown-text'
import type { Guard } from '@flotilla/identity/access'
import { rootOf } from '@flotilla/identity/events'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { AgentCaller } from '@flotilla/identity/http'
import type { AgentSizes } from '@flotilla/fleet/resources'
import type { AgentSize } from '@flotilla/fleet/sandbox'
import type { ApprovalDesk, ApprovalKind, RequestedApproval } from '@flotilla/work/approvals'
import * as z from 'zod'

const mb = 1024 * 1024
const argsSchema = z.strictObject({
  /** The agent whose size changes, and the agent that asks. */
  agent_id: agentIdSchema,
  asked_by: agentIdSchema,
  /** Whether the agent asks for itself or for its root ancestor, whose size it has. */
  for_itself: z.boolean(),
  /** What the owner set before, and what is set then. */
  from: agentSizeSchema,
  to: agentSizeSchema,
  reason: z.string(),
})

type Wanted = z.output<(typeof resourceRequestApi)['sizeRequest']['request']>

interface SizeDeps {
  readonly sizes: AgentSizes
  /** The highest use of the last hour as a sentence; null if nothing was measured. */
  readonly useOf: (agentId: string) => string | null
}

/** The kind of approval of another size of an agent's container. */
export function sizeApproval({ sizes, useOf }: SizeDeps): ApprovalKind {
  const doneWords = (agentId: string) => `Agent ${agentId} has the new size from its next run on.`
  return {
    action: (args) => {
      const { agent_id: agentId, asked_by: asker, for_itself: isOwn } = argsSchema.parse(args)
      return isOwn ? { do: 'act-for-self', agentId: asker } : { do: 'edit-agent-config', agentId }
    },
    describe: (args) => {
      const { agent_id: agentId, asked_by: asker, from, to, reason } = argsSchema.parse(args)
      const now = sizes.of(agentId)
      if (!isSameAgentSize(now.set, from))
        throw new Problem('conflict', {
          detail: `the size of agent ${agentId} was changed since the request; request another size again`,
        })
      const capacity = sizes.capacity()
      const used = useOf(agentId)
      return {
        subject: agentId,
        summary: `change the size of agent ${agentId} from ${sizeWords(now.size)} to ${sizeWords(sizes.possible(agentId, to))}`,
        consequences: [
          `Agent ${asker} asks for it, and says: ${quoted(reason)}`,
          used ?? `Nothing was measured of agent ${agentId} in the last hour.`,
          capacity === null
            ? 'What the machine has for agents is not known.'
            : `The machine has ${Math.floor(capacity.memoryBytes / mb)} MB of memory and ${capacity.cpus} processors for all agents.`,
          `The container of ${agentId} has the new size from its next run on, and so have all agents that it created. Work in progress is not interrupted.`,
        ],
        price: 'The change itself uses no model.',
      }
    },
    carryOut: async (person, args) => {
      const { agent_id: agentId, from, to } = argsSchema.parse(args)
      await sizes.set(person, agentId, { size: to, seen: from })
      return doneWords(agentId)
    },
    ifCutOff: 'again',
    wasDone: (args) => {
      const { agent_id: agentId, to } = argsSchema.parse(args)
      return isSameAgentSize(sizes.of(agentId).set, to) ? doneWords(agentId) : null
    },
  }
}

/** Asks a person for another size. Problems `denied`, `unknown-agent`, `conflict`, `size-unavailable`, `approvals-full`. */
export type RequestSize = (caller: AgentCaller, wanted: Wanted) => RequestedApproval

export function createRequestSize(
  deps: Pick<SizeDeps, 'sizes'> & {
    readonly guard: Guard
    readonly identityEvents: Pick<IdentityEvents, 'makersOf'>
    readonly approvals: Pick<ApprovalDesk, 'ask'>
  },
): RequestSize {
  const { guard, sizes, approvals } = deps
  return (caller, { agent_id: named = caller.agentId, reason, ...change }) => {
    const isOwn = named === caller.agentId
    guard(
      caller,
      isOwn ? { do: 'act-for-self', agentId: named } : { do: 'edit-agent-config', agentId: named },
    )
    // The size of the root ancestor applies to all agents that it created.
    const agentId = rootOf(deps.identityEvents, named)
    const { set: from, size } = sizes.of(agentId)
    const to: AgentSizeSet = { ...from, ...limitsOf(change) }
    // A default that is set changes nothing.
    if (isDeepStrictEqual(size, sizes.possible(agentId, to)))
      throw new Problem('conflict', { detail: `agent ${agentId} has this size already; name another one` })
    const args = {
      agent_id: agentId,
      asked_by: caller.agentId,
      for_itself: isOwn,
      from: limitsOf(from),
      to: limitsOf(to),
      reason: sanitizeForPrompt(reason),
    }
    return approvals.ask(caller, { kind: sizeApprovalKind, args })
  }
}

function sizeWords({ memoryLimitBytes, cpu, pidsLimit, tmpSizeBytes }: AgentSize): string {
  const cpus = Number((cpu.quotaUs / cpu.periodUs).toFixed(3))
  return `${memoryLimitBytes / mb} MB of memory, ${cpus} ${cpus === 1 ? 'processor' : 'processors'}, ${pidsLimit} processes and ${tmpSizeBytes / mb} MB in /tmp`
}
