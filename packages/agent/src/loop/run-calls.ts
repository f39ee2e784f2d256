import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { executeToolCall, expectedShape } from '../tools/execute-tool-call.ts'
import type { ToolCallEnd } from '../tools/execute-tool-call.ts'
import { offeredDefinitions } from '../tools/held-tools.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'
import { callsTogether, readCall } from './calls-together.ts'
import type { ReadCall } from './calls-together.ts'
import { fingerprint } from './fingerprint.ts'
import { stepLoop } from './loop-detection.ts'
import { openCalls } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import { notices } from './notices.ts'
import { beginningOf, provenanceOf } from './run-provenance.ts'
import type { RoundsDeps, RoundsEnd } from './run-rounds.ts'
import { runStatusOf } from './run-status.ts'
import { keepResult, settleCall } from './settle-call.ts'
import { boundInput } from './task-result.ts'

/**
 * Makes the calls that the latest answer asks for and that have no result yet. Neighbours that change nothing are made
 * together; all else is made in order, and the conversation is the same as if all had been. After a crash the call
 * that was cut off is treated by its effect: one inside the container is reported as of unknown outcome, one to the mesh
 * is sent again under its key. Answers how the loop ends when repetition ends it, else null.
 */
export async function runCalls(
  deps: RoundsDeps,
  state: LoopState,
  signal: AbortSignal,
): Promise<RoundsEnd | null> {
  const asked = openCalls(state.messages).map((call) => readCall(deps.tools, call))
  let warn = false
  for (let at = 0; at < asked.length;) {
    signal.throwIfAborted()
    const together = state.pending === null ? callsTogether(asked.slice(at), state.calls) : []
    if (together.length > 1) {
      warn = (await runTogether(deps, { state, together }, signal)) || warn
      at += together.length
      continue
    }
    const one = asked[at]! // the index runs over the list
    const verdict = await runOne(deps, { state, one }, signal)
    if (verdict === 'terminate') {
      const detail = `${one.call.name} was called in a circle.`
      return { kind: 'failed', code: 'tool-loop-terminated', detail }
    }
    warn ||= verdict === 'warn'
    at += 1
  }
  if (warn) {
    state.messages.push({ role: 'system', content: notices.repeated })
    await deps.saveCheckpoint(state)
  }
  return null
}

async function runOne(
  deps: RoundsDeps,
  { state, one }: { readonly state: LoopState; readonly one: ReadCall },
  signal: AbortSignal,
): Promise<'run' | 'warn' | 'terminate'> {
  const { call, tool, parsed, key } = one
  const cutOff = state.pending?.callId === call.id
  // A call that was cut off was asked for before and is not asked for again.
  const before = cutOff ? null : stepLoop(state.calls, { kind: 'asked', call: key })
  if (before?.verdict === 'terminate') return 'terminate'
  if (before?.verdict === 'block') {
    state.calls = before.calls
    await settleCall(deps, { state, made: one }, wordsEnd(notices.skipped))
    return 'run'
  }
  const end =
    tool && parsed.ok
      ? await perform(deps, { state, one: { ...one, tool }, cutOff }, signal)
      : refusedEnd(deps, tool, parsed.ok ? '' : parsed.reason)
  const warn = countCall(state, one, end)
  await settleCall(deps, { state, made: one }, end)
  await recordFailure(deps, one, end)
  return warn ? 'warn' : 'run'
}

/**
 * Calls that change nothing need no intent on disk: cut off, they are made again, under the same keys. Their results are
 * kept in the model's order and in one write. Answers whether repetition is to be warned of.
 */
async function runTogether(
  deps: RoundsDeps,
  {
    state,
    together,
  }: { readonly state: LoopState; readonly together: readonly (ReadCall & { tool: Tool })[] },
  signal: AbortSignal,
): Promise<boolean> {
  const first = state.step + 1
  deps.onStep(state.step + together.length)
  const ends = await Promise.all(
    together.map(({ tool, input }, index) => {
      deps.onFrame({
        type: 'tool_start',
        step: first + index,
        name: tool.definition.name,
        input: boundInput(input),
      })
      const context = contextOf(deps, { state, step: first + index }, signal)
      return executeToolCall(tool, input, { context, clock: deps.clock })
    }),
  )
  signal.throwIfAborted()
  let warn = false
  const results: (() => void)[] = []
  for (const [index, one] of together.entries()) {
    const end = ends[index]! // one for each call
    warn = countCall(state, one, end) || warn
    results.push(await keepResult(deps, { state, made: one }, end))
  }
  await deps.saveCheckpoint(state)
  deps.onStep(state.step)
  for (const tell of results) tell()
  for (const [index, one] of together.entries()) await recordFailure(deps, one, ends[index]!) // one for each
  return warn
}

async function perform(
  deps: RoundsDeps,
  made: { readonly state: LoopState; readonly one: ReadCall & { tool: Tool }; readonly cutOff: boolean },
  signal: AbortSignal,
): Promise<ToolCallEnd> {
  const { state, cutOff } = made
  const { call, tool, input } = made.one
  if (cutOff && tool.effect === 'local') return wordsEnd(notices.unknownOutcome)
  const step = cutOff && state.pending ? state.pending.step : state.step + 1
  state.step = Math.max(state.step, step)
  state.pending = { callId: call.id, step }
  await deps.saveCheckpoint(state)
  deps.onStep(step)
  deps.onFrame({ type: 'tool_start', step, name: call.name, input: boundInput(input) })
  const end = await executeToolCall(tool, input, {
    context: contextOf(deps, { state, step }, signal),
    clock: deps.clock,
  })
  // A call that ended because the run was stopped keeps its intent, for whoever goes on with the run.
  signal.throwIfAborted()
  return end
}

function contextOf(
  deps: RoundsDeps,
  { state, step }: { readonly state: LoopState; readonly step: number },
  signal: AbortSignal,
): ToolContext {
  return {
    mesh: deps.mesh,
    idempotencyKey: `${state.runId}:${step}`,
    taskId: deps.taskId,
    signal,
    provenance: () => provenanceOf({ ...state, beginning: deps.beginning ?? beginningOf(undefined, null) }),
    status: () => runStatusOf(deps, state),
  }
}

/** Counts a call that was made; answers whether its repetition is to be warned of. */
function countCall(state: LoopState, { key }: ReadCall, end: ToolCallEnd): boolean {
  const call = { ...key, resultHash: fingerprint(end.output) }
  const after = stepLoop(state.calls, { kind: 'ended', call })
  state.calls = after.calls
  return after.verdict === 'warn'
}

async function recordFailure(deps: RoundsDeps, { call, input }: ReadCall, end: ToolCallEnd): Promise<void> {
  if (!end.ok) await deps.learnings?.recordToolFailure({ tool: call.name, input, output: end.output })
}

function refusedEnd(deps: RoundsDeps, tool: Tool | undefined, reason: string): ToolCallEnd {
  const names = offeredDefinitions(deps.tools)
    .map(({ name }) => name)
    .join(', ')
  const words = tool
    ? `${reason} Nothing was executed. ${expectedShape(tool)}`
    : `There is no such tool. There are: ${names}`
  return wordsEnd(sanitizeForPrompt(`Error (bad-request): ${words}`))
}

function wordsEnd(output: PromptText): ToolCallEnd {
  return { output, ok: false, durationMs: 0, code: null, completion: null, images: [] }
}
