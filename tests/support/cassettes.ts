import type { JsonObject } from '@flotilla/protocol/json-value'
import type {
  Cassette,
  CassetteTrack,
  CassetteTurn,
} from '../../packages/inference/src/models/recording/cassette.ts'

type Track = CassetteTrack
type Turn = CassetteTurn

export function aCassette(...tracks: readonly Track[]): Cassette {
  return { version: 1, description: 'Made by a test.', tracks: [...tracks] }
}

/** Returns a turn with text only. */
export function says(content: string, more: Partial<Turn> = {}): Turn {
  return { content, ...more }
}

/** Returns a turn with one tool call. */
export function calls(name: string, args: JsonObject, more: Partial<Turn> = {}): Turn {
  return { tool_calls: [{ name, arguments: args }], ...more }
}

/** Returns a turn with one `run_command` call. */
export function runs(command: string, more: Partial<Turn> & { readonly timeoutSeconds?: number } = {}): Turn {
  const { timeoutSeconds = 60, ...rest } = more
  return calls('run_command', { command, timeout_s: timeoutSeconds }, rest)
}

/** The operator's part of a hand-off: the question, the agent that gets the task, and the final answer. */
export function operatorHandsOff(work: {
  readonly when: string
  readonly to: string
  readonly title: string
  readonly description?: string
  /** Patterns that capture parts of the task's summary for the answer. */
  readonly capture?: Record<string, string>
  readonly answer: string
}): Track[] {
  return [
    {
      agent_kind: 'operator',
      when: `"${work.title}", which you gave to ${work.to}, is done\\.`,
      turns: [says(work.answer, work.capture ? { capture: work.capture } : {})],
    },
    {
      agent_kind: 'operator',
      when: `"${work.title}", which you gave to ${work.to}, is (?:failed|blocked|cancelled)\\.`,
      turns: [says('It was not done: {{why}}', { capture: { why: 'Summary: (.*)' } })],
    },
    {
      agent_kind: 'operator',
      when: work.when,
      turns: [
        calls('hand_off', { to: work.to, title: work.title, description: work.description ?? '' }),
        says('Handed over; the answer follows.'),
      ],
    },
  ]
}
