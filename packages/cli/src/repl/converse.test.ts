import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { createMeshClient } from '@flotilla/client/mesh-client'
import type { MeshClient } from '@flotilla/client/mesh-client'
import type { ChatOptions } from '@flotilla/client/stream-chat'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import type { SteerView } from '@flotilla/protocol/steer'
import { aRunView } from '../../../testing/src/run-view.ts'
import { describe, expect, it } from 'vitest'
import type { CommandContext } from '../context.ts'
import { keepTerminal } from '../fake-terminal.ts'
import { converse } from './chat-session.ts'
import { createTypedLines } from './typed-lines.ts'

const aSteer = (text: string, changes: Partial<SteerView>): SteerView => ({
  id: `steer_${text.length}`,
  agent_id: 'operator',
  origin: { kind: 'human', channel: 'cli' },
  text,
  state: 'waiting',
  run_id: 'run_1',
  step: null,
  became_run_id: null,
  created_at: 1,
  settled_at: null,
  ...changes,
})

const ended = (message: string, steers: SteerView[]): ChatStreamFrame => ({
  type: 'ended',
  run: aRunView({
    input: { kind: 'chat', message, session: 'default' },
    steers,
    outcome: { status: 'done', text: `answer to ${message}` },
  }),
})

interface Script {
  readonly lines: readonly string[]
  readonly hearsMeanwhile?: boolean
  /** Lines that are typed once the first answer has begun. */
  readonly meanwhile?: readonly string[]
  /** The reply to a steer, and its state when the run has ended. */
  readonly reply: (text: string) => SteerView
  readonly fate?: (text: string) => SteerView
}

/** Plays a conversation with a scripted mesh; returns the requests, the steers and the output. */
async function play({ lines, meanwhile = [], reply, fate = reply, hearsMeanwhile = true }: Script) {
  const { terminal, out, err } = keepTerminal()
  const input = new PassThrough()
  const requests: [string, string][] = []
  const texts: [string, string][] = []
  let keys = 0
  const client = {
    ...createMeshClient({ baseUrl: 'http://127.0.0.1:9' }),
    async *chatStream(_agent: string, message: string, options: ChatOptions = {}) {
      requests.push([message, options.idempotencyKey ?? ''])
      yield { type: 'accepted', run_id: 'run_1' } as const
      if (requests.length === 1) {
        for (const line of meanwhile) input.write(`${line}\n`)
        await new Promise((resolve) => setTimeout(resolve, 50))
        options.signal?.throwIfAborted()
      }
      yield ended(message, requests.length === 1 ? texts.map(([text]) => fate(text)) : [])
    },
    call: async (_name: string, parts: { body: { text: string }; idempotencyKey: string }) => {
      texts.push([parts.body.text, parts.idempotencyKey])
      return reply(parts.body.text)
    },
  } as unknown as MeshClient // only the calls of a conversation are scripted
  const context = {
    terminal,
    newKey: () => `key-${++keys}`,
    signal: new AbortController().signal,
  } as unknown as CommandContext // only the used fields are set
  const typed = createTypedLines(createInterface({ input, terminal: false }))
  for (const line of lines) input.write(`${line}\n`)
  const conversation = converse(context, {
    client,
    agentId: 'operator',
    session: 'default',
    typed,
    interrupts: { during: () => undefined, close: () => undefined },
    show: () => undefined,
    ask: () => Promise.resolve(null),
    project: null,
    lastRun: null,
    beside: hearsMeanwhile ? () => () => undefined : null,
  })
  setTimeout(() => input.end(), 300)
  await conversation
  return { asked: requests, said: texts, out: out.text(), err: err.text() }
}

const became = (text: string) => aSteer(text, { state: 'became-run', run_id: null, became_run_id: 'run_2' })

describe('what is typed while an answer comes', () => {
  it('text that is typed while an answer streams is said to the agent at work and asked no second time', async () => {
    const { asked, said } = await play({
      lines: ['count'],
      meanwhile: ['only the red ones', '/steer and   the blue'],
      reply: (text) => aSteer(text, {}),
      fate: (text) => aSteer(text, { state: 'taken', step: 3 }),
    })
    expect(asked).toEqual([['count', 'key-1']])
    expect(said).toEqual([
      ['only the red ones', 'key-2'],
      ['and the blue', 'key-3'],
    ])
  })

  it('text that is typed while an answer streams and came too late is followed as the run that it became, by its own key', async () => {
    const { asked, out } = await play({
      lines: ['count'],
      meanwhile: ['only the red ones'],
      reply: (text) => aSteer(text, {}),
      fate: became,
    })
    expect(asked).toEqual([
      ['count', 'key-1'],
      ['only the red ones', 'key-2'],
    ])
    expect(out).toBe('answer to count\nanswer to only the red ones\n')
  })

  it('text that is typed while an answer streams leaves the conversation when it is /quit, and the run goes on', async () => {
    const { asked, said } = await play({ lines: ['count'], meanwhile: ['/quit', 'never'], reply: became })
    expect([asked.length, said]).toEqual([1, []])
  })

  it('text that is typed while an answer streams waits for its turn where a script is read', async () => {
    const { asked, said } = await play({ lines: ['one', 'two'], hearsMeanwhile: false, reply: became })
    expect(asked.map(([message]) => message)).toEqual(['one', 'two'])
    expect(said).toEqual([])
  })
})

it('what is steered at the prompt is a run, and its answer is shown', async () => {
  const { said, out } = await play({ lines: ['/steer hello there', '/steer'], reply: became })
  expect(said).toEqual([['hello there', 'key-1']])
  expect(out).toBe('answer to hello there\n')
})
