import type { McpBrief } from '@flotilla/protocol/mcp-servers'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { statusOf } from './connect-server.ts'

const reasonMaxChars = 600
/** JSON-RPC error code for invalid parameters. */
const invalidParameters = -32_602

/**
 * The error text of a failed call for the model; `ended` says how the server ended, if it did during the call. Pure.
 */
export function callProblem(
  brief: McpBrief,
  met: { readonly error: unknown; readonly ended: string | null },
): Problem {
  const { name } = brief
  if (met.ended !== null) {
    return new Problem('outcome-unknown', {
      detail: `The MCP server ${name} ended during the call; the effect of the call is unknown: ${met.ended}.`,
    })
  }
  const reason = cutReason(reasonOf(met.error))
  const code =
    typeof met.error === 'object' && met.error !== null && 'code' in met.error ? met.error.code : null
  if (code === 'REQUEST_TIMEOUT') {
    return new Problem('outcome-unknown', {
      detail: `The MCP server ${name} did not answer within ${brief.callTimeoutMs / 1000} s; the effect of the call is unknown.`,
    })
  }
  // An answer has a protocol error code or a status. Without either the connection broke, and the call may
  // have been executed.
  if (typeof code !== 'number' && statusOf(met.error) === 0) {
    return new Problem('outcome-unknown', {
      detail: `The MCP server ${name} gave an incomplete answer; the effect of the call is unknown: ${reason}`,
    })
  }
  return new Problem(code === invalidParameters ? 'bad-request' : 'upstream-failed', {
    detail: `The MCP server ${name} refused the call: ${reason}`,
  })
}

/** A server's text, cut and cleaned for a model. Pure. */
export function cutReason(reason: string): PromptText {
  return truncatePromptText(sanitizeForPrompt(reason), reasonMaxChars, ' [cut]')
}

/** Pure. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof Problem) return `${thrown.code}: ${thrown.detail}`
  return thrown instanceof Error ? thrown.message : String(thrown)
}
