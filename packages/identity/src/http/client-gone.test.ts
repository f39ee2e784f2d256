import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { ClientRequest } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { clientGone } from './client-gone.ts'
import { createServer } from './server.ts'

/** An API with a slow answer, which records its abort signals. */
async function aSlowServer(answerMs: number) {
  const server = createServer(silentLog)
  onTestFinished(() => server.close())
  const signals: AbortSignal[] = []
  const socketListeners: number[] = []
  server.post('/slow', async (raw, reply) => {
    signals.push(clientGone(reply))
    socketListeners.push(raw.raw.socket.listenerCount('close'))
    await new Promise((resolve) => setTimeout(resolve, answerMs))
    return { aborted: signals.at(-1)?.aborted }
  })
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const post = (): ClientRequest => {
    const sent = request(`${url}/slow`, {
      method: 'POST',
      agent,
      headers: { 'content-type': 'application/json' },
    })
    sent.end('{"a":1}')
    return sent
  }
  return { post, signals, socketListeners }
}

async function answerOf(sent: ClientRequest): Promise<unknown> {
  const [reply] = await once(sent, 'response')
  return JSON.parse(Buffer.concat(await reply.toArray()).toString('utf8'))
}

test('a client that waits is not taken for gone, although its body was read to the end', async () => {
  const { post } = await aSlowServer(50)
  expect(await answerOf(post())).toEqual({ aborted: false })
})

test('a client that hangs up is noticed', async () => {
  const { post, signals } = await aSlowServer(5000)
  const sent = post()
  sent.on('error', () => {})
  await expect.poll(() => signals.length).toBe(1)
  sent.destroy()
  await expect.poll(() => signals[0]?.aborted).toBe(true)
  expect(signals[0]?.reason).toMatchObject({ code: 'client-gone' })
})

test('requests on one kept connection leave no listener on it', async () => {
  const { post, socketListeners, signals } = await aSlowServer(0)
  for (let count = 0; count < 12; count++) await answerOf(post())
  expect(new Set(socketListeners).size).toBe(1)
  expect(signals.some((signal) => signal.aborted)).toBe(false)
})
