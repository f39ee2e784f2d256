import type { JsonObject } from '@flotilla/protocol/json-value'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { beginCall, unmadeCall } from '../loop/call-intent.ts'
import { fingerprint, resultFingerprint } from '../loop/fingerprint.ts'
import type { LoopDeps } from '../loop/loop-deps.ts'
import { stepLoop } from '../loop/loop-detection.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { notices } from '../loop/notices.ts'
import { parseArguments } from '../loop/parallel-calls.ts'
import { provenanceOf } from '../loop/run-provenance.ts'
import { stableJson } from '../loop/run-request.ts'
import { boundInput } from '../loop/task-result.ts'
import { executeToolCall } from '../tools/execute-tool-call.ts'
import type { ToolCallEnd } from '../tools/execute-tool-call.ts'
import type { Tool, ToolImage } from '../tools/tool.ts'
import { earlierResults } from './earlier-results.ts'

/**
 * Calls of the harness to tools of the mesh during one prompt, look-ups included. A working harness makes some dozens;
 * each result is part of the checkpoint, which is written with every call.
 */
export const callsPerPromptMax = 200
/** Calls beyond that number that are refused; with one more the run ends as failed. */
const refusedCallsMax = 100

export interface MeshToolAnswer {
  readonly output: PromptText
  readonly ok: boolean
  readonly images: readonly ToolImage[]
}

/**
 * Calls one tool of the mesh for a harness, with its arguments as JSON. `asked` is aborted when the harness no longer waits for the answer. Never
 * rejects, except with the signal's reason.
 */
export type CallMeshTool = (tool: Tool, written: string, asked: AbortSignal) => Promise<MeshToolAnswer>

export interface MeshToolCalls {
  readonly call: CallMeshTool
  /** Allows calls until `endPrompt`, and counts them anew. */
  beginPrompt(): void
  /** Refuses every later call. Calls that have begun continue; callers wait for them before they end the run. */
  endPrompt(): void
}

/**
 * Makes the calls of a harness to tools of the mesh as the loop makes its own: the intent is on disk before the effect,
 * the result before the answer.
 *
 * - **C1** Callers make one call at a time; every other pending call is one of an interrupted attempt.
 * - **C2** A call with an effect that an interrupted attempt of the run has made is not made again: an equal call gets its
 *   result. One whose result is unknown is sent with the same idempotency key, or is not repeated if its effect is local,
 *   however many other calls come before it.
 * - **C3** A call whose harness did not wait for the answer is not made again either: the next equal call gets the answer.
 * - **C4** Repetition is bounded as in the loop, and the calls of one prompt are bounded in number. `onFailed` ends the run.
 */
export function createMeshToolCalls(
  deps: LoopDeps,
  run: {
    readonly state: LoopState
    readonly signal: AbortSignal
    readonly save: () => Promise<void>
    readonly onFailed: (code: string, detail: string) => void
    readonly onCompleted: () => void
  },
): MeshToolCalls {
  const { state, signal, save } = run
  const { watch, clock } = deps
  const earlier = earlierResults(state)
  let isPrompting = false
  let calls = 0

  const record = async (step: number, made: Made, end: ToolCallEnd): Promise<void> => {
    const { name, written, shown } = made
    const { output, ok, durationMs } = end
    const id = `${state.runId}:${step}`
    state.pending = state.pending.filter((call) => call.step !== step)
    state.messages.push(
      { role: 'assistant', content: none, toolCalls: [{ id, name, arguments: written }] },
      { role: 'tool', toolCallId: id, content: output, ...(ok ? {} : { ended: 'failed' as const }) },
    )
    state.toolOutputs.push({ step, tool: name, input: shown, output, ok, duration_ms: durationMs })
    state.completion ??= end.completion
    await save()
    watch.onFrame({ type: 'tool_result', step, name, output, ok })
  }
  const make = async (
    tool: Tool,
    { input, shown, written }: Arguments,
    callId: string,
  ): Promise<MeshToolAnswer> => {
    const { name } = tool.definition
    const made = { name, written, shown: boundInput(shown) }
    const interrupted =
      tool.effect === 'none' ? null : (state.pending.find((one) => one.callId === callId) ?? null)
    const begun = beginCall(state, { callId, effect: tool.effect, interrupted })
    const step = begun ?? interrupted?.step ?? state.step
    watch.onFrame({ type: 'tool_start', step, name, input: made.shown })
    if (begun === null) {
      await record(step, made, notRepeated)
      return notRepeated
    }
    await save()
    watch.onStep(state.step)
    const end = await executeToolCall(tool, input, {
      context: {
        mesh: deps.mesh,
        idempotencyKey: `${state.runId}:${step}`,
        taskId: deps.work.taskId,
        signal,
        written: made.written,
        provenance: () => provenanceOf({ ...state, beginning: deps.work.beginning }),
      },
      clock,
    })
    // If the run was stopped, the intent of its call stays on disk for the next attempt.
    signal.throwIfAborted()
    await record(step, made, end)
    if (!end.ok) await deps.learnings?.recordToolFailure({ tool: name, input: shown, output: end.output })
    if (state.completion !== null) run.onCompleted()
    return end
  }
  const tooMany = (): MeshToolAnswer => {
    if (calls > callsPerPromptMax + refusedCallsMax)
      run.onFailed(
        'harness-failed',
        `The harness made more than ${callsPerPromptMax + refusedCallsMax} calls to tools of the fleet in one turn.`,
      )
    return refused(tooManyCalls)
  }

  const call: CallMeshTool = async (tool, written, asked) => {
    signal.throwIfAborted()
    const { name } = tool.definition
    if (asked.aborted) return refused(notAwaited)
    if (!isPrompting) return refused(endedTurn)
    if (state.completion !== null) return refused(closedTask)
    const parsed = parseArguments(written)
    if (!parsed.ok) return refused(sanitizeForPrompt(`Error (bad-request): ${parsed.reason}`))
    const paramsHash = fingerprint(stableJson(parsed.shown))
    const same = { tool: name, paramsHash }
    const found = tool.effect === 'none' ? null : earlier.take(same)
    if (found !== null) return { ...found, images: [] }
    calls += 1
    if (calls > callsPerPromptMax) return tooMany()
    const before = stepLoop(state.calls, { kind: 'asked', call: same })
    if (before.verdict === 'terminate') {
      run.onFailed('tool-loop-terminated', `${name} was called again and again with the same result.`)
      return refused(notices.skipped)
    }
    if (before.verdict === 'block') {
      state.calls = before.calls
      return refused(notices.skipped)
    }
    const { output, ok, images } = await make(
      tool,
      { ...parsed, written },
      fingerprint(`${name} ${paramsHash}`),
    )
    const made = { ...same, resultHash: resultFingerprint(output, tool.effect) }
    state.calls = stepLoop(state.calls, { kind: 'ended', call: made }).calls
    if (tool.effect !== 'none' && asked.aborted) earlier.keep(same, { output, ok })
    return { output, ok, images }
  }
  return {
    call,
    beginPrompt: () => {
      isPrompting = true
      calls = 0
    },
    endPrompt: () => {
      isPrompting = false
    },
  }
}

interface Arguments {
  readonly input: JsonObject
  /** With numbers that no float can represent as texts of their digits. */
  readonly shown: JsonObject
  readonly written: string
}

interface Made {
  readonly name: string
  readonly written: string
  readonly shown: JsonObject
}

const none = sanitizeForPrompt('')
const closedTask = sanitizeForPrompt('Error: the task is closed, so no further call is made. End your turn.')
const endedTurn = sanitizeForPrompt('Error: the turn of this run has ended, so no further call is made.')
const notAwaited = sanitizeForPrompt('Error: the call was cancelled before it began, so nothing was done.')
const tooManyCalls = sanitizeForPrompt(
  `Error: ${callsPerPromptMax} calls to tools of the fleet were made in this turn, the maximum. No further call is made. End your turn, and say what is left to do.`,
)
const notRepeated = unmadeCall(notices.unknownOutcome)

function refused(output: PromptText): MeshToolAnswer {
  return { output, ok: false, images: [] }
}
