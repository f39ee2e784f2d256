import type { RunRecordView } from '@flotilla/protocol/replay-api'
import type { SpanView } from '@flotilla/protocol/trace-api'

type Record = Pick<RunRecordView, 'steps' | 'turns'>
type Step = RunRecordView['steps'][number]

/** How much earlier or later than its span the record may store an answer, in milliseconds. */
const driftMs = 2000

/** A message of the prompt of a model call, in the order of the conversation. */
export interface PromptPart {
  readonly who: string
  readonly text: string
}

/** True for a span in which a model was called. Pure. */
export function isModelSpan({ attributes }: SpanView): boolean {
  return attributes['gen_ai.request.model'] !== undefined
}

/**
 * Returns the recorded step of a model call. A span contains no text, so the step is found by its time: the record
 * stores an answer when its call ends. Null for calls outside of the conversation, such as those of sub-agents. Pure.
 */
export function stepOfSpan(span: SpanView, { steps }: Pick<Record, 'steps'>): Step | null {
  if (!isModelSpan(span)) return null
  const end = span.ended_at ?? Number.POSITIVE_INFINITY
  const near = steps.filter(({ at }) => at >= span.started_at - driftMs && at <= end + driftMs)
  const distance = ({ at }: Step): number => Math.abs(at - (span.ended_at ?? span.started_at))
  return near.toSorted((one, other) => distance(one) - distance(other))[0] ?? null
}

/**
 * Returns what the model read in this step of its turn: the request, and the answers and results before the step. What
 * was said in earlier turns is not repeated. Pure.
 */
export function promptOf(step: Step, { steps, turns }: Record): readonly PromptPart[] {
  const asked = turns.find(({ turn }) => turn === step.turn)?.asked ?? ''
  const before = steps.filter((one) => one.turn === step.turn && one.step < step.step)
  return [
    { who: 'Request', text: asked },
    ...before.flatMap(({ text, calls }) => [
      ...(text === '' ? [] : [{ who: 'Answer', text }]),
      ...calls.flatMap(({ tool, arguments: given, result }) => [
        { who: `Calls ${tool}`, text: given },
        ...(result === null ? [] : [{ who: `Result of ${tool}`, text: result }]),
      ]),
    ]),
  ].filter(({ text }) => text !== '')
}
