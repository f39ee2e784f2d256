import type { ServerResponse } from 'node:http'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import { aRunView } from '../../testing/src/run-view.ts'
import { describe, expect, it } from 'vitest'
import { startLoopbackServer } from './loopback-server.ts'
import { createMeshClient } from './mesh-client.ts'
import type { MeshClientOptions } from './mesh-client.ts'
import { nodeFetch } from './node-fetch.ts'
import { isMeshUnreachable } from './unreachable.ts'

const accepted = { type: 'accepted', run_id: 'run_1' } as const
const text = {
  type: 'event',
  event: { type: 'text.streamed', agent_id: 'operator', run_id: 'run_1', content: 'Hel' },
} as const
const ended = { type: 'ended', run: aRunView() } as const

function send(reply: ServerResponse, frames: readonly unknown[]): void {
  if (!reply.headersSent) reply.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const frame of frames) reply.write(`data: ${JSON.stringify(frame)}\n\n`)
}

async function typesOf(frames: AsyncIterable<ChatStreamFrame>): Promise<string[]> {
  const types: string[] = []
  for await (const frame of frames) types.push(frame.type)
  return types
}

describe.each([
  ['the fetch of Node', globalThis.fetch],
  ['node:http', nodeFetch],
])('chat stream over %s', (_name, fetch) => {
  const clientOf = (options: MeshClientOptions) => createMeshClient({ fetch, ...options })

  it('a chat stream gives frames in order and ends with the outcome, whatever follows', async () => {
    await using server = await startLoopbackServer((_call, reply) => {
      send(reply, [accepted, text, ended, text])
      reply.end()
    })
    const client = clientOf({ baseUrl: server.url })
    expect(await typesOf(client.chatStream('operator', 'Hi'))).toEqual(['accepted', 'event', 'ended'])
    expect(JSON.parse(server.calls[0]?.body ?? '')).toEqual({ message: 'Hi' })
  })

  it('a run that is followed from its beginning begins again when its stream breaks', async () => {
    await using server = await startLoopbackServer((_call, reply, nth) => {
      send(reply, nth === 1 ? [accepted, text] : [accepted, text, ended])
      if (nth === 1) setTimeout(() => reply.destroy(), 20)
    })
    const types = await typesOf(clientOf({ baseUrl: server.url }).runStream('run_1'))
    expect(types).toEqual(['accepted', 'event', 'accepted', 'event', 'ended'])
    expect(server.calls.map((call) => call.url)).toEqual(['/api/runs/run_1/stream', '/api/runs/run_1/stream'])
  })

  it('a chat stream is resumed under its key when it breaks, and reports accepted once', async () => {
    await using server = await startLoopbackServer((_call, reply, nth) => {
      send(reply, nth === 1 ? [accepted, text] : [accepted, ended])
      if (nth === 1) setTimeout(() => reply.destroy(), 20)
    })
    const client = clientOf({ baseUrl: server.url })
    const types = await typesOf(client.chatStream('operator', 'Hi', { idempotencyKey: 'key-1' }))
    expect(types).toEqual(['accepted', 'event', 'ended'])
    expect(server.calls.map((call) => call.headers['idempotency-key'])).toEqual(['key-1', 'key-1'])
  })

  it('a chat stream without a key ends with a Problem when it breaks', async () => {
    await using server = await startLoopbackServer((_call, reply) => {
      send(reply, [accepted])
      reply.end()
    })
    const client = clientOf({ baseUrl: server.url })
    const error = await typesOf(client.chatStream('operator', 'Hi')).catch((reason: unknown) => reason)
    expect(isMeshUnreachable(error)).toBe(true)
    expect(server.calls).toHaveLength(1)
  })

  it('a chat stream is not asked twice when the mesh refuses it', async () => {
    await using server = await startLoopbackServer((_call, reply) =>
      reply.writeHead(429).end('{"code":"lane-full","detail":"full"}'),
    )
    const client = clientOf({ baseUrl: server.url })
    await expect(typesOf(client.chatStream('operator', 'Hi', { idempotencyKey: 'k' }))).rejects.toMatchObject(
      {
        code: 'lane-full',
      },
    )
    expect(server.calls).toHaveLength(1)
  })

  it('a chat stream refuses a frame of another form', async () => {
    await using server = await startLoopbackServer((_call, reply) => send(reply, [{ type: 'surprise' }]))
    const client = clientOf({ baseUrl: server.url })
    await expect(typesOf(client.chatStream('operator', 'Hi', { idempotencyKey: 'k' }))).rejects.toMatchObject(
      {
        code: 'upstream-failed',
      },
    )
  })

  it('a chat stream stops when the signal aborts', async () => {
    await using server = await startLoopbackServer((_call, reply) => send(reply, [accepted]))
    const client = clientOf({ baseUrl: server.url })
    const stop = new AbortController()
    const seen: string[] = []
    const read = async () => {
      for await (const frame of client.chatStream('operator', 'Hi', {
        signal: stop.signal,
        idempotencyKey: 'k',
      })) {
        seen.push(frame.type)
        stop.abort(new Error('enough'))
      }
    }
    await expect(read()).rejects.toThrow('enough')
    expect(seen).toEqual(['accepted'])
  })
})
