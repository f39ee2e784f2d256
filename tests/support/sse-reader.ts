import { request } from 'node:http'
import type { OutgoingHttpHeaders } from 'node:http'
import { patient } from './patience.ts'

export interface SseFrame {
  readonly id: string | null
  readonly data: Record<string, unknown>
}

export interface SseReader {
  readonly frames: readonly SseFrame[]
  /** Returns the next unread frame; rejects when the stream ends or the deadline passes. */
  next(boundMs?: number): Promise<SseFrame>
  /** Returns all frames until the server closes the stream. */
  all(): Promise<readonly SseFrame[]>
  leave(): void
}

/** A plain reader of server-sent events over `node:http`, which neither retries nor interprets events. */
export async function readEvents(call: {
  readonly method: string
  readonly url: string
  readonly headers: OutgoingHttpHeaders
  readonly body?: string
}): Promise<SseReader> {
  const frames: SseFrame[] = []
  let taken = 0
  let closed = false
  let wake = () => {}
  const sent = request(call.url, {
    method: call.method,
    headers: { accept: 'text/event-stream', ...call.headers },
  })
  const reply = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve)
    sent.once('error', reject)
    sent.end(call.body)
  })
  if (!(reply.headers['content-type'] ?? '').startsWith('text/event-stream')) {
    const chunks: Buffer[] = []
    for await (const chunk of reply) chunks.push(chunk as Buffer)
    throw new Error(`no event stream: ${reply.statusCode} ${Buffer.concat(chunks).toString()}`)
  }
  let rest = ''
  reply.on('data', (piece: Buffer) => {
    const blocks = (rest + piece.toString()).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (data === undefined) continue
      frames.push({
        id: /^id: (.*)$/m.exec(block)?.[1] ?? null,
        data: JSON.parse(data) as Record<string, unknown>,
      })
    }
    wake()
  })
  const end = () => {
    closed = true
    wake()
  }
  reply.once('close', end)
  reply.once('error', end)
  sent.on('error', end)

  async function change(boundMs: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no event in ${patient(boundMs)} ms`)),
        patient(boundMs),
      )
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  return {
    frames,
    async next(boundMs = 30_000) {
      while (taken >= frames.length) {
        if (closed) throw new Error('the stream has ended')
        await change(boundMs)
      }
      taken += 1
      return frames[taken - 1]! // the loop above saw to it
    },
    async all() {
      for (;;) {
        if (closed) return frames
        await change(60_000)
      }
    },
    leave: () => sent.destroy(),
  }
}
