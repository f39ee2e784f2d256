import type { FleetEvent, FleetEventBody } from '@flotilla/protocol/fleet-event'
import { isTerminal } from '@flotilla/protocol/run'

/** The maximum length of the streamed text of one run, in characters; its outcome has the whole text. */
const textMaxChars = 64_000
/** The maximum number of runs whose text is kept. The oldest is forgotten first. */
const runsMax = 500

type TextEvent = Extract<FleetEventBody, { type: 'text.streamed' }>
interface Answer {
  /** The number of the event of its first piece. */
  readonly seq: number
  body: TextEvent
}

/** The text that active runs have streamed so far, for readers that come later: pieces of text are not stored. */
export interface StreamedTexts {
  take(event: FleetEvent): void
  /** The text of a run, one event for each answer, numbered by its first piece; none for an ended run. */
  of(runId: string): readonly FleetEvent[]
}

export function createStreamedTexts(): StreamedTexts {
  const runs = new Map<string, Answer[]>()

  function add(seq: number, body: TextEvent): void {
    const answers = runs.get(body.run_id) ?? []
    if (answers.length === 0 && runs.size >= runsMax) runs.delete(runs.keys().next().value ?? '')
    runs.set(body.run_id, answers)
    const known = answers.find((one) => one.body.answer === body.answer)
    const before = known === undefined || body.begins === true ? '' : known.body.content
    const others = answers.reduce((sum, one) => sum + (one === known ? 0 : one.body.content.length), 0)
    const content = `${before}${body.content}`.slice(0, Math.max(0, textMaxChars - others))
    const whole = { ...body, content, begins: true as const }
    if (known === undefined) answers.push({ seq, body: whole })
    else known.body = whole
  }

  return {
    take: ({ seq, body }) => {
      if (body.type === 'text.streamed') add(seq, body)
      if (body.type === 'run.changed' && isTerminal(body.state)) runs.delete(body.run_id)
    },
    of: (runId) => (runs.get(runId) ?? []).map(({ seq, body }) => ({ seq, at: 0, body })),
  }
}
