import { crc32 } from 'node:zlib'
import { wireUsage } from './wire-turn.ts'
import type { Turn, Wire } from './wire-turn.ts'

const bedrockUsage = {
  inputTokens: wireUsage.prompt - wireUsage.cached,
  cacheReadInputTokens: wireUsage.cached,
  cacheWriteInputTokens: 0,
  outputTokens: wireUsage.answer,
  totalTokens: wireUsage.prompt + wireUsage.answer,
}

function bedrockBlocks({
  thought,
  text,
  call,
}: Turn): { whole: object; start: object | null; deltas: object[] }[] {
  return [
    ...(thought
      ? [
          {
            whole: { reasoningContent: { reasoningText: thought } },
            start: null,
            deltas: [
              { reasoningContent: { text: thought.text } },
              { reasoningContent: { signature: thought.signature } },
            ],
          },
        ]
      : []),
    ...(text === undefined ? [] : [{ whole: { text }, start: null, deltas: [{ text }] }]),
    ...(call
      ? [
          {
            whole: { toolUse: { toolUseId: call.id, name: call.name, input: call.input } },
            start: { toolUse: { toolUseId: call.id, name: call.name } },
            deltas: [{ toolUse: { input: JSON.stringify(call.input) } }],
          },
        ]
      : []),
  ]
}

function bedrockStop({ call }: Turn): string {
  return call ? 'tool_use' : 'end_turn'
}

export const bedrock: Wire = {
  whole: (turn) => ({
    metrics: { latencyMs: 1864 },
    output: {
      message: { role: 'assistant', content: bedrockBlocks(turn).map(({ whole }) => whole) },
    },
    stopReason: bedrockStop(turn),
    usage: bedrockUsage,
  }),
  events: (turn) => [
    { messageStart: { role: 'assistant' } },
    ...bedrockBlocks(turn).flatMap(({ start, deltas }, contentBlockIndex) => [
      ...(start ? [{ contentBlockStart: { contentBlockIndex, start } }] : []),
      ...deltas.map((delta) => ({ contentBlockDelta: { contentBlockIndex, delta } })),
      { contentBlockStop: { contentBlockIndex } },
    ]),
    { messageStop: { stopReason: bedrockStop(turn) } },
    { metadata: { metrics: { latencyMs: 2281 }, usage: bedrockUsage } },
  ],
  frame: (event) => amazonFrame(event, 'event'),
  failure: (message) => amazonFrame({ modelStreamErrorException: { message } }, 'exception'),
  streamType: 'application/vnd.amazon.eventstream',
  refusal: (_status, message) => ({ message }),
}

/** Amazon's binary event stream: lengths, headers, payload, and a checksum of each half. */
export function amazonFrame(event: object, kind: 'event' | 'exception'): Buffer {
  const [[type, payload] = ['', {}]] = Object.entries(event)
  const headers = Buffer.concat(
    [
      [`:${kind}-type`, type],
      [':content-type', 'application/json'],
      [':message-type', kind],
    ].map(([name = '', value = '']) => {
      const head = Buffer.alloc(2 + name.length + 2)
      head.writeUInt8(name.length, 0)
      head.write(name, 1)
      head.writeUInt8(7, 1 + name.length)
      head.writeUInt16BE(value.length, 2 + name.length)
      return Buffer.concat([head, Buffer.from(value)])
    }),
  )
  const body = Buffer.from(JSON.stringify(payload))
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(12 + headers.length + body.length + 4, 0)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const message = Buffer.concat([prelude, headers, body])
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(message), 0)
  return Buffer.concat([message, check])
}
