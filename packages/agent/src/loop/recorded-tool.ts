import { Problem } from '@flotilla/protocol/problem'
import { replayAgentEndpoints, replaySessionPattern } from '@flotilla/protocol/replay-endpoints'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { PromptMessage } from '../llm/language-model.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { isJsonObject } from '../tools/parameters.ts'
import type { TaskCompletion, Tool, ToolAnswer } from '../tools/tool.ts'

/** The mesh reads a row for it, and nothing is done. */
const askTimeoutMs = 30_000

/**
 * A tool whose call was made in a run that is played again: it is not called, and the mesh says what it returned then. In any
 * other run the mesh knows of no such call, so that a model that makes such an id up only gets an error for it.
 */
export function recordedTool(tool: Tool, callId: string): Tool {
  return {
    ...tool,
    effect: 'none',
    timeoutMs: askTimeoutMs,
    run: async (input, { mesh, signal, taskId }): Promise<ToolAnswer> => {
      const reply = await mesh.call({
        endpoint: replayAgentEndpoints.recordedCall,
        body: { call_id: callId, tool: tool.definition.name },
        signal,
      })
      if (!isJsonObject(reply)) throw new Problem('upstream-failed', { detail: 'The record cannot be read.' })
      const ended = reply['ended'] === true && tool.definition.name === 'complete_task'
      return {
        output: textIn(reply, 'output'),
        ok: reply['ok'] === true,
        ...(ended ? { completion: completionOf(input, taskId ?? '') } : {}),
      }
    },
  }
}

function completionOf(input: JsonObject, taskId: string): TaskCompletion {
  const { summary, status, result } = input
  return {
    taskId,
    status: status === 'failed' || status === 'blocked' ? status : 'done',
    summary: typeof summary === 'string' ? summary : '',
    result: result ?? null,
    // What it wrote then stands there; a replay writes nothing.
    promote: {},
  }
}

/** Whether a run in this conversation plays another one again, so that nothing is to be learned from it. Pure. */
export function isReplay(session: string): boolean {
  return session.startsWith('replay:')
}

/** What was said before the turn that is played again; nothing in every other conversation. */
export async function recordedHistory(
  session: string,
  { mesh, signal }: { readonly mesh: RunMesh; readonly signal: AbortSignal },
): Promise<readonly PromptMessage[]> {
  if (!replaySessionPattern.test(session)) return []
  const reply = await mesh.call({ endpoint: replayAgentEndpoints.recordedHistory, signal })
  const messages = isJsonObject(reply) && Array.isArray(reply['messages']) ? reply['messages'] : []
  return messages.flatMap((message) => (isJsonObject(message) ? promptMessages(message) : []))
}

function promptMessages(message: JsonObject): PromptMessage[] {
  const content = sanitizeForPrompt(textIn(message, 'content'))
  if (message['role'] === 'tool') return [{ role: 'tool', content, toolCallId: textIn(message, 'call_id') }]
  if (message['role'] === 'user') return [{ role: 'user', content }]
  const calls = Array.isArray(message['calls']) ? message['calls'] : []
  const toolCalls = calls.flatMap((call) =>
    isJsonObject(call)
      ? [{ id: textIn(call, 'id'), name: textIn(call, 'name'), arguments: textIn(call, 'arguments') }]
      : [],
  )
  return [{ role: 'assistant', content, toolCalls }]
}

function textIn(object: JsonObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}
