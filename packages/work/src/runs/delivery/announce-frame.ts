import type { ChatFrame } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import type { EventBus } from '@flotilla/foundation/events'
import type { RunRecord } from '../ledger/run-record.ts'

/** Maximum length of one frame that people see, characters; the agent's result holds the whole output. */
const textMaxChars = 20_000
const outputMaxChars = 4000
const inputMaxChars = 4000
const subagentMaxChars = 100
const nameMaxChars = 128

/** Maximum frames of one run that are stored per second: each is a database write that delays all other agents. */
const keptFramesPerSecond = 50

/** Publishes an agent's frames. Frames above the rate limit are dropped; the run's result contains their content. */
export function showFrames(
  deps: { readonly events: EventBus; readonly clock: Clock },
  run: RunRecord,
  signal: AbortSignal,
): (frame: ChatFrame) => void {
  const second = { number: 0, kept: 0 }
  return (frame) => {
    const event = signal.aborted ? null : frameEvent(run, frame)
    if (!event) return
    if (event.type !== 'text.streamed') {
      const now = Math.floor(deps.clock.now() / 1000)
      if (second.number !== now) Object.assign(second, { number: now, kept: 0 })
      second.kept++
      if (second.kept > keptFramesPerSecond) return
    }
    deps.events.publish(event)
  }
}

/**
 * Returns the fleet event of a frame, shortened because an agent controls its size; null for the last frame, the
 * outcome. Pure.
 */
export function frameEvent(run: RunRecord, frame: ChatFrame): FleetEventBody | null {
  const who = { agent_id: run.agentId, run_id: run.id }
  switch (frame.type) {
    case 'text_delta':
      return { ...frame, ...who, type: 'text.streamed', content: frame.content.slice(0, textMaxChars) }
    case 'tool_start':
      return {
        type: 'tool.started',
        ...who,
        step: frame.step,
        name: frame.name.slice(0, nameMaxChars),
        input: shortened(frame.input),
        ...ofSubagent(frame.subagent),
      }
    case 'tool_result': {
      const { step, ok } = frame
      const name = frame.name.slice(0, nameMaxChars)
      const output = frame.output.slice(0, outputMaxChars)
      const seen = frame.pictures === undefined ? {} : { pictures: frame.pictures }
      return { type: 'tool.ended', ...who, step, name, output, ok, ...seen, ...ofSubagent(frame.subagent) }
    }
    case 'model_wait':
      return {
        type: 'model.delayed',
        ...who,
        state: 'retries',
        seconds: frame.seconds,
        model: null,
        provider: frame.provider?.slice(0, nameMaxChars) ?? null,
        provider_status: frame.provider_status,
        code: isProblemCode(frame.code) ? frame.code : null,
      }
    case 'files_changed':
      return { ...frame, ...who, type: 'files.changed' }
    case 'done':
      return null
  }
}

function ofSubagent(id: string | undefined): { subagent?: string } {
  return id === undefined ? {} : { subagent: id.slice(0, subagentMaxChars) }
}

function shortened(input: JsonObject): JsonValue {
  const text = JSON.stringify(input)
  return text.length <= inputMaxChars ? input : `${text.slice(0, inputMaxChars)} [cut]`
}
