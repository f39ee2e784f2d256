import { chatCalls, namedEvent, wireUsage } from './wire-turn.ts'
import type { Turn, Wire } from './wire-turn.ts'

const cohereUsage = {
  billed_units: { input_tokens: wireUsage.prompt, output_tokens: wireUsage.answer },
  tokens: { input_tokens: wireUsage.prompt, output_tokens: wireUsage.answer },
  cached_tokens: wireUsage.cached,
}

function cohereContent({ thought, text }: Turn): Record<string, unknown>[] {
  return [
    ...(thought ? [{ type: 'thinking', thinking: thought.text }] : []),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
  ]
}

function cohereEnd({ call }: Turn): string {
  return call ? 'TOOL_CALL' : 'COMPLETE'
}

export const cohere: Wire = {
  whole: (turn) => ({
    id: 'e7592632-1e3d-424f-b129-bd5f9f980f7b',
    message: { role: 'assistant', content: cohereContent(turn), ...chatCalls(turn, turn.call?.id ?? '') },
    finish_reason: cohereEnd(turn),
    usage: cohereUsage,
  }),
  events: (turn) => [
    {
      id: '2941521a-b87a-45f6-9b0d-235fd66c3025',
      type: 'message-start',
      delta: { message: { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] } },
    },
    ...cohereContent(turn).flatMap((part, index) => {
      const field = part['type'] === 'thinking' ? 'thinking' : 'text'
      return [
        { type: 'content-start', index, delta: { message: { content: { type: field, [field]: '' } } } },
        { type: 'content-delta', index, delta: { message: { content: { [field]: part[field] } } } },
        { type: 'content-end', index },
      ]
    }),
    ...(turn.call ? cohereCall(turn.call) : []),
    { type: 'message-end', delta: { finish_reason: cohereEnd(turn), usage: cohereUsage } },
  ],
  frame: namedEvent,
  failure: () => namedEvent({ type: 'message-end', delta: { finish_reason: 'ERROR', usage: cohereUsage } }),
  streamType: 'text/event-stream',
  refusal: (_status, message) => ({ id: 'x', message }),
}

function cohereCall({ id, name, input }: NonNullable<Turn['call']>): object[] {
  const start = { id, type: 'function', function: { name, arguments: '' } }
  const text = { function: { arguments: JSON.stringify(input) } }
  return [
    { type: 'tool-call-start', index: 0, delta: { message: { tool_calls: start } } },
    { type: 'tool-call-delta', index: 0, delta: { message: { tool_calls: text } } },
    { type: 'tool-call-end', index: 0 },
  ]
}
