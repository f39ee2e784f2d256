import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { Problem } from '@flotilla/protocol/problem'
import { replayAgentEndpoints, replaySessionPattern } from '@flotilla/protocol/replay-endpoints'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { PromptMessage } from '../llm/language-model.ts'
import type { LoopBounds, LoopDeps, SaidBetween } from './loop-deps.ts'
import type { LoopState } from './loop-state.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { TaskCompletion, Tool, ToolAnswer } from '../tools/tool.ts'

/** Timeout in milliseconds; for a recorded call the mesh only reads one row. */
const askTimeoutMs = 30_000

/**
 * A tool whose call was made in a run that is being replayed. It is not executed; the mesh returns the recorded
 * result. In any other run the mesh does not know the call, so a model that invents such an id gets an error.
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
    // The recorded run has already written these values to the blackboard; a replay writes nothing.
    promote: {},
  }
}

/** Whether a run in this conversation begins with the record of another run. Pure. */
function playsRecord(session: string): boolean {
  return replaySessionPattern.test(session)
}

/** Whether a run in this conversation replays another one, so that nothing can be learned from it. Pure. */
export function isReplay(session: string): boolean {
  return session.startsWith('replay:')
}

/**
 * Number of rounds that a chat turn may take. A replayed run may have been a task, and is not cut at the chat
 * limit. Pure.
 */
export function turnRoundsMax(session: string, bounds: LoopBounds): number {
  const { chatRoundsPerTurnMax, taskIterationsMax } = bounds
  return playsRecord(session) ? Math.max(chatRoundsPerTurnMax, taskIterationsMax) : chatRoundsPerTurnMax
}

export interface RecordedHistory {
  /** Messages before the turn. */
  readonly before: readonly PromptMessage[]
  /** Messages in the middle of the turn. */
  readonly said: readonly SaidBetween[]
}

/** The messages before and in the middle of the turn that is replayed; empty in every other conversation. */
export async function recordedHistory(
  session: string,
  { mesh, signal }: { readonly mesh: RunMesh; readonly signal: AbortSignal },
): Promise<RecordedHistory> {
  if (!playsRecord(session)) return { before: [], said: [] }
  const reply = await mesh.call({ endpoint: replayAgentEndpoints.recordedHistory, signal })
  const listIn = (name: string) => {
    const list = isJsonObject(reply) ? reply[name] : []
    return Array.isArray(list) ? list.filter(isJsonObject) : []
  }
  const texts = listIn('said').map((entry) => ({
    answers: Number(entry['answers']),
    text: sanitizeForPrompt(textIn(entry, 'text')),
  }))
  return { before: listIn('messages').flatMap(promptMessages), said: texts }
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

/** Adds the recorded messages that follow this answer, so that a replayed turn continues as the recorded one did. */
export async function sayRecorded(
  { work: { said: recorded = [] }, saveCheckpoint }: LoopDeps,
  state: LoopState,
): Promise<void> {
  const now = recorded.filter(({ answers }) => answers === state.rounds.turn)
  if (now.length === 0 || state.messages.at(-1)?.role === 'user') return
  for (const { text } of now) state.messages.push({ role: 'user', content: text })
  await saveCheckpoint(state)
}
