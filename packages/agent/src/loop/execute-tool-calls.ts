import type { ChatFrame } from '@flotilla/protocol/agent-api'
import { recordedCallPattern } from '@flotilla/protocol/replay-endpoints'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { boundImages, withoutSeenImages } from '../images/bound-images.ts'
import { keepImages, shownPicture } from '../images/image-store.ts'
import { executeToolCall, expectedShape } from '../tools/execute-tool-call.ts'
import type { ToolCallEnd } from '../tools/execute-tool-call.ts'
import type { RunStatus, Tool, ToolContext } from '../tools/tool.ts'
import { foundTools } from '../tools/found-tools.ts'
import { noSuchTool } from '../tools/no-such-tool.ts'
import { parallelCalls, readCall } from './parallel-calls.ts'
import type { ReadCall } from './parallel-calls.ts'
import { recordedTool } from './recorded-turn.ts'
import { beginCall, unmadeCall } from './call-intent.ts'
import { resultFingerprint } from './fingerprint.ts'
import type { LoopDeps, LoopEnd } from './loop-deps.ts'
import { stepLoop } from './loop-detection.ts'
import { openCalls } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import { notices } from './notices.ts'
import { provenanceOf } from './run-provenance.ts'
import { boundInput } from './task-result.ts'

/** A call whose tool exists and whose arguments can be parsed. */
type UsableCall = ReadCall & { readonly tool: Tool }

interface EndedCall {
  readonly call: ReadCall
  readonly end: ToolCallEnd
}

/**
 * Executes the calls of the latest answer that have no result yet. Neighboring calls without effects run together;
 * all others run in order, and the conversation is the same as if all had run in order. After a crash the interrupted
 * call is handled by its effect: a local one is reported as of unknown outcome, one to the mesh is sent again with
 * its idempotency key. Returns how the loop ends if repetition ends it, else null.
 */
export async function executeToolCalls(
  deps: LoopDeps,
  state: LoopState,
  signal: AbortSignal,
): Promise<LoopEnd | null> {
  const requested = openCalls(state.messages).map((call) => readCall(deps.tools, call))
  let warn = false
  for (let at = 0; at < requested.length;) {
    signal.throwIfAborted()
    const together = state.pending.length === 0 ? parallelCalls(requested.slice(at), state.calls) : []
    if (together.length > 1) {
      warn = (await executeTogether(deps, { state, together }, signal)) || warn
      at += together.length
      continue
    }
    const call = requested[at]! // the index runs over the list
    const verdict = await executeOne(deps, { state, call }, signal)
    if (verdict === 'terminate') {
      const detail = `${call.made.name} was called again and again with the same result.`
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

async function executeOne(
  deps: LoopDeps,
  { state, call }: { readonly state: LoopState; readonly call: ReadCall },
  signal: AbortSignal,
): Promise<'run' | 'warn' | 'terminate'> {
  const { tool, parsed, key } = call
  const cutOff = state.pending.some(({ callId }) => callId === call.requested.id)
  // An interrupted call was already counted by the loop detector.
  const before = cutOff ? null : stepLoop(state.calls, { kind: 'asked', call: key })
  if (before?.verdict === 'terminate') return 'terminate'
  if (before?.verdict === 'block') {
    state.calls = before.calls
    announce(deps, call, state.step + 1)
    await storeResults(deps, state, [{ call, end: unmadeCall(notices.skipped) }])
    return 'run'
  }
  const isUsable = tool !== undefined && parsed.ok
  if (!isUsable && !cutOff) announce(deps, call, state.step + 1)
  const end = isUsable
    ? await executeWithIntent(deps, { state, call: { ...call, tool }, cutOff }, signal)
    : refusal(deps, call)
  const ended = { call, end }
  const warn = countCall(state, ended)
  await storeResults(deps, state, [ended])
  await recordFailure(deps, ended)
  return warn ? 'warn' : 'run'
}

/**
 * Calls without effects need no intent on disk: if interrupted, they run again with the same keys. Their
 * results are stored in the model's order and in one write. Returns whether to warn of repetition.
 */
async function executeTogether(
  deps: LoopDeps,
  { state, together }: { readonly state: LoopState; readonly together: readonly UsableCall[] },
  signal: AbortSignal,
): Promise<boolean> {
  const first = state.step + 1
  deps.watch.onStep(state.step + together.length)
  const ended = await Promise.all(
    together.map(async (call, index) => ({
      call,
      end: await execute(deps, { state, call, step: first + index }, signal),
    })),
  )
  if (signal.aborted) markStopped(state, together)
  signal.throwIfAborted()
  const warnings = ended.filter((one) => countCall(state, one))
  await storeResults(deps, state, ended)
  for (const one of ended) await recordFailure(deps, one)
  return warnings.length > 0
}

async function executeWithIntent(
  deps: LoopDeps,
  of: { readonly state: LoopState; readonly call: UsableCall; readonly cutOff: boolean },
  signal: AbortSignal,
): Promise<ToolCallEnd> {
  const { state, call, cutOff } = of
  const interrupted = cutOff ? (state.pending.at(-1) ?? null) : null
  const step = beginCall(state, { callId: call.requested.id, effect: call.tool.effect, interrupted })
  if (step === null) return unmadeCall(notices.unknownOutcome)
  await deps.saveCheckpoint(state)
  deps.watch.onStep(step)
  const end = await execute(deps, { state, call, step }, signal)
  // If the run was stopped, the intent of its call stays on disk, so that the next attempt knows of the call.
  if (signal.aborted) markStopped(state, [call])
  signal.throwIfAborted()
  return end
}

async function execute(
  deps: LoopDeps,
  { state, call, step }: { readonly state: LoopState; readonly call: UsableCall; readonly step: number },
  signal: AbortSignal,
): Promise<ToolCallEnd> {
  const { tool, input } = call
  announce(deps, call, step)
  const context: ToolContext = {
    mesh: deps.mesh,
    idempotencyKey: `${state.runId}:${step}`,
    taskId: deps.work.taskId,
    signal,
    written: call.made.arguments,
    provenance: () => provenanceOf({ ...state, beginning: deps.work.beginning }),
    status: () => runStatusOf(deps, state),
    found: () => new Set(foundTools(state.messages).keys()),
  }
  const { id } = call.requested
  // In a replay, calls that the model made in the recorded run are not repeated.
  const played = recordedCallPattern.test(id) ? recordedTool(tool, id) : tool
  return executeToolCall(played, input, { context, clock: deps.clock })
}

/** The run's progress in the numbers that bound it. */
function runStatusOf({ work: { bounds, spending } }: LoopDeps, state: LoopState): RunStatus {
  const { startedAt, rounds, tokens, costUsd } = state
  const isChat = bounds.kind === 'chat'
  return {
    startedAt,
    rounds: rounds.turn,
    roundsMax: isChat ? bounds.perTurnMax : bounds.iterationsMax,
    sessionRounds: isChat ? { used: rounds.session, max: bounds.perSessionMax } : null,
    tokens,
    costUsd,
    spending,
  }
}

/** Notes in the conversation which calls were running when the run was stopped; no checkpoint has the note. */
function markStopped(state: LoopState, running: readonly ReadCall[]): void {
  for (const { made } of running) {
    state.messages.push({
      role: 'tool',
      toolCallId: made.id,
      content: sanitizeForPrompt(notices.stopped),
      ended: 'stopped',
    })
  }
}

/** Publishes the start of a call; a refused call is published too, so that its result belongs to something. */
function announce({ watch }: LoopDeps, { made, shown }: ReadCall, step: number): void {
  watch.onFrame({ type: 'tool_start', step, name: made.name, input: boundInput(shown) })
}

/** Counts a finished call; returns whether to warn of its repetition. */
function countCall(state: LoopState, { call, end }: EndedCall): boolean {
  const made = { ...call.key, resultHash: resultFingerprint(end.output, call.tool?.effect) }
  const after = stepLoop(state.calls, { kind: 'ended', call: made })
  state.calls = after.calls
  return after.verdict === 'warn'
}

/** Updates the conversation, the run's record and the disk; subscribers are notified once the results are stored. */
async function storeResults(deps: LoopDeps, state: LoopState, ended: readonly EndedCall[]): Promise<void> {
  const frames: ChatFrame[] = []
  for (const one of ended) frames.push(await addResult(deps, state, one))
  await deps.saveCheckpoint(state)
  deps.watch.onStep(state.step)
  for (const frame of frames) deps.watch.onFrame(frame)
}

async function addResult(deps: LoopDeps, state: LoopState, { call, end }: EndedCall): Promise<ChatFrame> {
  const { id, name } = call.made
  const { output, images } = await keepImages(deps.images, end)
  const pending = state.pending.at(-1)
  if (pending === undefined) state.step += 1
  const step = pending?.step ?? state.step
  state.pending = []
  if (!call.parsed.ok && call.made === call.requested) forgetArguments(state, id)
  state.messages.push({
    role: 'tool',
    toolCallId: id,
    content: output,
    ...(images.length > 0 ? { images } : {}),
    ...(end.ok ? {} : { ended: 'failed' as const }),
  })
  if (images.length > 0) state.messages = boundImages(state.messages)
  state.messages = [...withoutSeenImages(state.messages)]
  state.completion ??= end.completion
  const account = { step, output, ok: end.ok }
  state.toolOutputs.push({
    ...account,
    tool: name,
    input: boundInput(call.shown),
    duration_ms: end.durationMs,
  })
  const pictures = images.map(shownPicture)
  return { type: 'tool_result', name, ...account, ...(pictures.length > 0 ? { pictures } : {}) }
}

/** Providers reject a conversation whose arguments are no object; the result says what was wrong with them. */
function forgetArguments(state: LoopState, callId: string): void {
  state.messages = state.messages.map((message) => {
    if (message.role !== 'assistant') return message
    const toolCalls = message.toolCalls.map((made) =>
      made.id === callId ? { ...made, arguments: '{}' } : made,
    )
    return { ...message, toolCalls }
  })
}

async function recordFailure(deps: LoopDeps, { call, end }: EndedCall): Promise<void> {
  const { made, shown: input } = call
  if (!end.ok) await deps.learnings?.recordToolFailure({ tool: made.name, input, output: end.output })
}

function refusal(deps: LoopDeps, { tool, made, parsed }: ReadCall): ToolCallEnd {
  const reason = parsed.ok ? '' : parsed.reason
  const detail = tool
    ? `${reason} Nothing was executed. ${expectedShape(tool)}`
    : noSuchTool(deps.tools, made.name)
  return unmadeCall(sanitizeForPrompt(`Error (bad-request): ${detail}`))
}
