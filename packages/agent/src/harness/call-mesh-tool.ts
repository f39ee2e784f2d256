import type { JsonObject } from '@flotilla/protocol/json-value'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { fingerprint } from '../loop/fingerprint.ts'
import type { LoopDeps } from '../loop/loop-deps.ts'
import { stepLoop } from '../loop/loop-detection.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { notices } from '../loop/notices.ts'
import { provenanceOf } from '../loop/run-provenance.ts'
import { stableJson } from '../loop/run-request.ts'
import { boundInput } from '../loop/task-result.ts'
import { executeToolCall } from '../tools/execute-tool-call.ts'
import type { Tool, ToolImage } from '../tools/tool.ts'
import { earlierResults } from './earlier-results.ts'

export interface MeshToolAnswer {
  readonly output: PromptText
  readonly ok: boolean
  readonly images: readonly ToolImage[]
}

/** Calls one tool of the mesh for a harness. Never rejects, except with the signal's reason. */
export type CallMeshTool = (tool: Tool, input: JsonObject) => Promise<MeshToolAnswer>

/**
 * Makes the calls of a harness to tools of the mesh as the loop makes its own: the intent is on disk before the effect,
 * the result before the answer.
 *
 * - **C1** Callers make one call at a time; the state has room for one interrupted call.
 * - **C2** A call that an interrupted attempt of the run has made is not made again: an equal call gets its result. One
 *   whose result is unknown is sent with the same idempotency key.
 * - **C3** Repetition is bounded as in the loop. `onTerminated` ends the run.
 */
export function createCallMeshTool(
  deps: LoopDeps,
  run: {
    readonly state: LoopState
    readonly signal: AbortSignal
    readonly save: () => Promise<void>
    readonly onTerminated: (tool: string) => void
    readonly onCompleted: () => void
  },
): CallMeshTool {
  const { state, signal, save } = run
  const { watch, clock } = deps
  const earlier = earlierResults(state)
  let interrupted = state.pending

  const make = async (tool: Tool, input: JsonObject, key: string): Promise<MeshToolAnswer> => {
    const isSame = interrupted?.callId === key && tool.effect === 'mesh'
    const step = isSame && interrupted !== null ? interrupted.step : state.step + 1
    interrupted = null
    state.step = Math.max(state.step, step)
    state.pending = { callId: key, step }
    await save()
    const { name } = tool.definition
    const shown = boundInput(input)
    watch.onFrame({ type: 'tool_start', step, name, input: shown })
    watch.onStep(state.step)
    const written = JSON.stringify(input)
    const end = await executeToolCall(tool, input, {
      context: {
        mesh: deps.mesh,
        idempotencyKey: `${state.runId}:${step}`,
        taskId: deps.work.taskId,
        signal,
        written,
        provenance: () => provenanceOf({ ...state, beginning: deps.work.beginning }),
      },
      clock,
    })
    // If the run was stopped, the intent of its call stays on disk for the next attempt.
    signal.throwIfAborted()
    state.pending = null
    const { output, ok, durationMs } = end
    const id = `${state.runId}:${step}`
    state.messages.push(
      { role: 'assistant', content: none, toolCalls: [{ id, name, arguments: written }] },
      { role: 'tool', toolCallId: id, content: output, ...(ok ? {} : { ended: 'failed' as const }) },
    )
    state.toolOutputs.push({ step, tool: name, input: shown, output, ok, duration_ms: durationMs })
    state.completion ??= end.completion
    await save()
    watch.onFrame({ type: 'tool_result', step, name, output, ok })
    if (!ok) await deps.learnings?.recordToolFailure({ tool: name, input, output })
    if (state.completion !== null) run.onCompleted()
    return { output, ok, images: end.images }
  }

  return async (tool, input) => {
    signal.throwIfAborted()
    const { name } = tool.definition
    if (state.completion !== null) return refused(closedTask)
    const paramsHash = fingerprint(stableJson(input))
    const key = fingerprint(`${name} ${paramsHash}`)
    const found = tool.effect === 'mesh' ? earlier.take(name, paramsHash) : null
    if (found !== null) return { output: found, ok: true, images: [] }
    const asked = { tool: name, paramsHash }
    const before = stepLoop(state.calls, { kind: 'asked', call: asked })
    if (before.verdict === 'terminate') {
      run.onTerminated(name)
      return refused(notices.skipped)
    }
    if (before.verdict === 'block') {
      state.calls = before.calls
      return refused(notices.skipped)
    }
    const answer = await make(tool, input, key)
    const made = { ...asked, resultHash: fingerprint(answer.output) }
    state.calls = stepLoop(state.calls, { kind: 'ended', call: made }).calls
    return answer
  }
}

const none = sanitizeForPrompt('')
const closedTask = sanitizeForPrompt('Error: the task is closed, so no further call is made. End your turn.')

function refused(output: PromptText): MeshToolAnswer {
  return { output, ok: false, images: [] }
}
