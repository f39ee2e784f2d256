import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { RequestedCall } from '../llm/language-model.ts'
import { executeToolCall, expectedShape } from '../tools/execute-tool-call.ts'
import type { ToolCallEnd } from '../tools/execute-tool-call.ts'
import { parseArguments } from '../tools/parse-arguments.ts'
import type { Tool } from '../tools/tool.ts'
import { fingerprint } from './fingerprint.ts'
import { stepLoop } from './loop-detection.ts'
import { openCalls } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import { notices } from './notices.ts'
import { beginningOf, provenanceOf } from './run-provenance.ts'
import type { RoundsDeps, RoundsEnd } from './run-rounds.ts'
import { stableJson } from './run-request.ts'
import { boundInput } from './task-result.ts'

/**
 * Makes the calls that the latest answer asks for and that have no result yet, in order. After a crash the call
 * that was cut off is treated by its effect: one inside the container is reported as of unknown outcome, one to
 * the mesh is sent again under its key. Answers how the loop ends when repetition ends it, else null.
 */
export async function runCalls(
  deps: RoundsDeps,
  state: LoopState,
  signal: AbortSignal,
): Promise<RoundsEnd | null> {
  let warn = false
  for (const call of openCalls(state.messages)) {
    signal.throwIfAborted()
    const tool = deps.tools.find((known) => known.definition.name === call.name)
    const parsed = parseArguments(call.arguments)
    const input = parsed.ok ? parsed.input : {}
    const params = parsed.ok ? stableJson(input) : call.arguments
    const key = { tool: call.name, paramsHash: fingerprint(params) }
    const cutOff = state.pending?.callId === call.id
    // A call that was cut off was asked for before and is not asked for again.
    const before = cutOff ? null : stepLoop(state.calls, { kind: 'asked', call: key })
    if (before?.verdict === 'terminate') {
      return { kind: 'failed', code: 'tool-loop-terminated', detail: `${call.name} was called in a circle.` }
    }
    if (before?.verdict === 'block') {
      state.calls = before.calls
      await settle(deps, { state, call, input }, wordsEnd(notices.skipped))
      continue
    }
    const end =
      tool && parsed.ok
        ? await perform(deps, { state, call, input, tool, cutOff }, signal)
        : refusedEnd(deps, tool, parsed.ok ? '' : parsed.reason)
    const after = stepLoop(state.calls, {
      kind: 'ended',
      call: { ...key, resultHash: fingerprint(end.output) },
    })
    warn ||= after.verdict === 'warn'
    state.calls = after.calls
    await settle(deps, { state, call, input }, end)
    if (!end.ok) await deps.learnings?.recordToolFailure({ tool: call.name, input, output: end.output })
  }
  if (warn) {
    state.messages.push({ role: 'system', content: notices.repeated })
    await deps.saveCheckpoint(state)
  }
  return null
}

interface Made {
  readonly state: LoopState
  readonly call: RequestedCall
  readonly input: JsonObject
}

async function perform(
  deps: RoundsDeps,
  made: Made & { tool: Tool; cutOff: boolean },
  signal: AbortSignal,
): Promise<ToolCallEnd> {
  const { state, call, tool, input } = made
  if (made.cutOff && tool.effect === 'local') return wordsEnd(notices.unknownOutcome)
  const step = made.cutOff && state.pending ? state.pending.step : state.step + 1
  state.step = Math.max(state.step, step)
  state.pending = { callId: call.id, step }
  await deps.saveCheckpoint(state)
  deps.onStep(step)
  deps.onFrame({ type: 'tool_start', step, name: call.name, input: boundInput(input) })
  const context = {
    mesh: deps.mesh,
    idempotencyKey: `${state.runId}:${step}`,
    taskId: deps.taskId,
    signal,
    provenance: () => provenanceOf({ ...state, beginning: deps.beginning ?? beginningOf(undefined, null) }),
  }
  const end = await executeToolCall(tool, input, { context, clock: deps.clock })
  // A call that ended because the run was stopped keeps its intent, for whoever goes on with the run.
  signal.throwIfAborted()
  return end
}

/** Stores a call's result: the conversation, the account of the run, and the disk. */
async function settle(deps: RoundsDeps, made: Made, end: ToolCallEnd): Promise<void> {
  const { state, call } = made
  if (state.pending === null) state.step += 1
  const step = state.pending?.step ?? state.step
  state.pending = null
  if (!parseArguments(call.arguments).ok) forgetArguments(state, call)
  state.messages.push({ role: 'tool', toolCallId: call.id, content: end.output })
  state.completion ??= end.completion
  state.toolOutputs.push({
    step,
    tool: call.name,
    input: boundInput(made.input),
    output: end.output,
    ok: end.ok,
    duration_ms: end.durationMs,
  })
  await deps.saveCheckpoint(state)
  deps.onStep(state.step)
  deps.onFrame({ type: 'tool_result', step, name: call.name, output: end.output, ok: end.ok })
}

/** Providers refuse a conversation with arguments that are no object; the result says what was wrong with them. */
function forgetArguments(state: LoopState, call: RequestedCall): void {
  state.messages = state.messages.map((message) =>
    message.role === 'assistant' && message.toolCalls.some((made) => made.id === call.id)
      ? {
          ...message,
          toolCalls: message.toolCalls.map((made) =>
            made.id === call.id ? { ...made, arguments: '{}' } : made,
          ),
        }
      : message,
  )
}

function refusedEnd(deps: RoundsDeps, tool: Tool | undefined, reason: string): ToolCallEnd {
  const names = deps.tools.map((known) => known.definition.name).join(', ')
  const words = tool
    ? `${reason} Nothing was executed. ${expectedShape(tool)}`
    : `There is no such tool. There are: ${names}`
  return wordsEnd(sanitizeForPrompt(`Error (bad-request): ${words}`))
}

function wordsEnd(output: PromptText): ToolCallEnd {
  return { output, ok: false, durationMs: 0, code: null, completion: null }
}
