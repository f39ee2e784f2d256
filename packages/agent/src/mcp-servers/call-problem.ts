import type { McpBrief } from '@flotilla/protocol/mcp-servers'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { statusOf } from './connect-server.ts'

const reasonMaxChars = 600
/** JSON-RPC: the parameters are not what the tool takes. */
const invalidParameters = -32_602

/** What a failed call tells the model; `ended` says how the server ended, where it did during the call. Pure. */
export function callProblem(
  brief: McpBrief,
  met: { readonly error: unknown; readonly ended: string | null },
): Problem {
  const { name } = brief
  if (met.ended !== null) {
    return new Problem('outcome-unknown', {
      detail: `The MCP server ${name} ended during the call, and what the call did is not known: ${met.ended}.`,
    })
  }
  const said = cutReason(reasonOf(met.error))
  const code =
    typeof met.error === 'object' && met.error !== null && 'code' in met.error ? met.error.code : null
  if (code === 'REQUEST_TIMEOUT') {
    return new Problem('outcome-unknown', {
      detail: `The MCP server ${name} did not answer within ${brief.callTimeoutMs / 1000} s; what the call did is not known.`,
    })
  }
  // An answer has a number of the protocol or a status; without one the line broke, and the call may have been made.
  if (typeof code !== 'number' && statusOf(met.error) === 0) {
    return new Problem('outcome-unknown', {
      detail: `The MCP server ${name} gave no whole answer, and what the call did is not known: ${said}`,
    })
  }
  return new Problem(code === invalidParameters ? 'bad-request' : 'upstream-failed', {
    detail: `The MCP server ${name} refused the call: ${said}`,
  })
}

/** Words of a server, as they may stand before a model. Pure. */
export function cutReason(words: string): PromptText {
  return truncatePromptText(sanitizeForPrompt(words), reasonMaxChars, ' [cut]')
}

/** Pure. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof Problem) return `${thrown.code}: ${thrown.detail}`
  return thrown instanceof Error ? thrown.message : String(thrown)
}
