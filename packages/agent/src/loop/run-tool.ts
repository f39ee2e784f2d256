import { hintOfName } from '@flotilla/protocol/nearest-name'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { executeToolCall } from '../tools/execute-tool-call.ts'
import type { ToolCallEnd } from '../tools/execute-tool-call.ts'
import { beginCall } from './call-intent.ts'
import { notices } from './notices.ts'
import { beginningOf, provenanceOf } from './run-provenance.ts'
import { executedRun, resumeState } from './turn.ts'
import type { RunAttempt, RunEquipment, RunRules, RunStores } from './loop-deps.ts'
import type { ExecutedRun } from './run-slot.ts'
import type { RunRequest } from './run-request.ts'
import { abortedEnd, boundInput } from './task-result.ts'
import type { RunEnd } from './task-result.ts'

/** Calls one tool without a model, and handles interrupted calls as the loop does. */
export async function runTool(
  context: RunAttempt &
    Pick<RunEquipment, 'tools'> &
    Pick<RunStores, 'checkpoints' | 'learnings'> &
    Pick<RunRules, 'clock'>,
  request: Extract<RunRequest, { kind: 'tool' }>,
): Promise<ExecutedRun> {
  const { clock } = context
  const state = await resumeState(context, request.runId, {
    messages: [],
    rounds: { turn: 0, session: 0, continues: 0 },
  })
  const report = (end: RunEnd): ExecutedRun => executedRun(context, request, { state, end, taskId: null })
  const tool = context.tools.find((known) => known.definition.name === request.tool)
  if (!tool) {
    const names = context.tools.map(({ definition }) => definition.name)
    const hint = hintOfName(request.tool, names, 'the tools are')
    return report({
      status: 'failed',
      code: 'not-found',
      detail: `There is no tool ${request.tool}; ${hint}`,
    })
  }
  const { effect } = tool
  const step = beginCall(state, { callId: request.tool, effect, interrupted: state.pending.at(-1) ?? null })
  if (step === null) {
    return report({ status: 'failed', code: 'outcome-unknown', detail: notices.unknownOutcome })
  }
  await context.checkpoints.save(state)
  context.hooks.onStep(step)
  const call = {
    mesh: context.mesh,
    idempotencyKey: `${request.runId}:${step}`,
    taskId: null,
    signal: context.signal,
    provenance: () => provenanceOf({ ...state, beginning: beginningOf(request.origin, null) }),
  }
  const end = await executeToolCall(tool, request.params, { context: call, clock })
  if (context.signal.aborted) return report(abortedEnd(context.signal))
  state.pending = []
  state.toolOutputs.push({
    step,
    tool: request.tool,
    input: boundInput(request.params),
    output: end.output,
    ok: end.ok,
    duration_ms: end.durationMs,
  })
  await context.checkpoints.save(state)
  if (!end.ok) {
    const { tool: name, params } = request
    await context.learnings?.recordToolFailure({ tool: name, input: params, output: end.output })
  }
  return report(endOf(end))
}

function endOf(end: ToolCallEnd): RunEnd {
  const result = parsed(end.output)
  if (end.ok) return { status: 'complete', response: end.output, result }
  return {
    status: 'failed',
    code: end.code ?? 'unprocessable',
    detail: end.output.slice(0, 1000),
    response: end.output,
    result,
  }
}

function parsed(output: string): JsonValue {
  try {
    return JSON.parse(output) as JsonValue
  } catch {
    return output
  }
}
