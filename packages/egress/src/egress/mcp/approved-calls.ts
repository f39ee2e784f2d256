import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import { shownAddress } from '@flotilla/protocol/mcp-servers'
import type { McpServers, RemoteMcpServer } from '@flotilla/protocol/mcp-servers'
import { Problem } from '@flotilla/protocol/problem'
import { quoted, visible } from '@flotilla/protocol/shown-text'
import type { Log } from '@flotilla/foundation/platform'
import type { PolicyDecision } from '@flotilla/identity/policy'
import type { ApprovalKind } from '@flotilla/work/approvals'
import * as z from 'zod'
import { approvalRequired, approvedEffectArgs } from '../approved/approved-effect.ts'
import type { AgentCaller, ApprovedEffects } from '../approved/approved-effect.ts'
import { startDeadline } from '../fetch/deadline.ts'
import { effectAt } from '../fetch/request-effect.ts'
import { callInOwnSession } from './call-in-own-session.ts'
import type { ExchangeWithServer } from './exchange-with-server.ts'
import type { AskedCall } from './require-allowed.ts'
import { requireServer } from './require-server.ts'

/** The kind of approval of one tool call of an MCP server. */
export const mcpApprovalKind = 'mcp-call'
/** The maximum length of the arguments of a call that a person is asked about, in characters of JSON. */
const argumentsMaxChars = 4000
/** How much of the name of a tool the one-line summary shows, in characters. */
const nameMaxChars = 100
/** How long an approved call may take, with its session, in milliseconds. */
const callTimeoutMs = 120_000

const argsSchema = z.strictObject({
  ...approvedEffectArgs,
  server: z.string(),
  /** Binds the address and the headers that the owner set for the server. */
  server_sha256: z.string(),
  address: z.string(),
  /** The name and the arguments of the tool, with handles in place of credentials. */
  call: jsonObjectSchema,
  /** The names of the credentials of the whole request. */
  credentials: z.array(z.string()),
})

export interface ApprovedCalls {
  readonly kind: ApprovalKind
  /** Stores a tool call for a person, and throws the Problem `approval-required` with the id of the approval. */
  readonly ask: (caller: AgentCaller, asked: AskedCall, decision: PolicyDecision) => never
}

/** Calls of MCP tools that a rule of the owner asks for. The mesh makes an approved call in a session of its own. */
export function createApprovedCalls(deps: {
  readonly approved: ApprovedEffects
  readonly serversOf: (agentId: string) => McpServers
  /** Sends a message whose effect a person has approved. */
  readonly exchange: ExchangeWithServer
  readonly clock: Clock
  readonly log: Log
}): ApprovedCalls {
  const serverOf = (agentId: string, name: string) => requireServer(deps.serversOf(agentId), name)
  return {
    kind: {
      action: () => ({ do: 'call-api', api: 'http' }),
      describe: (args) => {
        const {
          agent_id: subject,
          server,
          address,
          call,
          credentials,
          rule,
          because,
        } = argsSchema.parse(args)
        const name = typeof call['name'] === 'string' ? call['name'] : JSON.stringify(call['name'])
        const written = visible(JSON.stringify(call['arguments'] ?? {}))
        return {
          subject,
          summary: `call ${quoted(name, nameMaxChars)} of the MCP server ${server}`,
          consequences: [
            `The mesh calls the tool ${quoted(name)} of the MCP server ${server} (${address}) for ${subject}, once, in a session of its own.`,
            `Arguments: ${written}`,
            ...(credentials.length === 0
              ? []
              : [`The mesh fills in the credential ${credentials.join(', ')}.`]),
            `The rule ${rule} of config/policy.yaml asks: ${because}`,
          ],
          price: 'The call uses no model; the server may charge for it.',
        }
      },
      carryOut: async (_person, args, confirmed) => {
        const { server, server_sha256: bound, call } = argsSchema.parse(args)
        const reply = await deps.approved.once(args, confirmed, async (caller, line) => {
          if (serverDigest(serverOf(caller.agentId, server)) !== bound) {
            throw new Problem('approval-changed', {
              detail: `the address or the headers of the MCP server ${server} have changed since the call was approved, so nothing was sent`,
            })
          }
          const deadline = startDeadline(deps.clock, callTimeoutMs, line.signal)
          try {
            return await callInOwnSession(
              (message) => deps.exchange(caller, { server, url: null, ...message }, deadline.signal),
              call,
              {
                leaving: line.dispatching,
                unended: (error) =>
                  deps.log.warn(
                    { agentId: caller.agentId, server, err: error },
                    'failed to end the session of an approved tool call; the MCP server ends it by itself',
                  ),
              },
            )
          } finally {
            deadline.clear()
          }
        })
        return `The tool was called once and ${reply.isError ? 'reported an error' : 'answered'}: ${reply.text}`
      },
      // The record of effects says whether the call has left; `carryOut` asks it.
      ifCutOff: 'again',
      wasDone: () => null,
      policyEffect: (args) => {
        const { server: mcpServer, address, call, credentials, rule } = argsSchema.parse(args)
        const mcpTool = typeof call['name'] === 'string' ? call['name'] : null
        // The exchange that calls a tool is a POST. A handle in the address hides its path.
        const at = URL.canParse(address) ? effectAt(new URL(address), 'POST') : {}
        const path = address.includes('handle') ? { path: null } : {}
        return { details: { tool: 'mcp', mcpServer, mcpTool, credentials, ...at, ...path }, rule }
      },
    },
    ask: (caller, { server: name, call, credentials }, decision) => {
      const written = JSON.stringify(call)
      if (written.length > argumentsMaxChars) {
        throw new Problem('policy-denied', {
          detail: `a person must approve this call (rule ${decision.rule ?? ''}), and it is longer than the ${argumentsMaxChars} characters that a person can be shown`,
        })
      }
      const server = serverOf(caller.agentId, name)
      // Without a key: an exchange with an MCP server is never sent again, and an equal call joins the one that waits.
      const row = deps.approved.ask(caller, mcpApprovalKind, {
        decision,
        args: {
          server: name,
          server_sha256: serverDigest(server),
          address: shownAddress(server.url),
          call,
          credentials: [...credentials],
        },
      })
      throw approvalRequired('call', row, decision.reason)
    },
  }
}

function serverDigest({ url, headers }: RemoteMcpServer): string {
  return createHash('sha256').update(JSON.stringify({ url, headers })).digest('hex')
}
