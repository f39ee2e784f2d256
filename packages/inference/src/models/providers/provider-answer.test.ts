import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { exchange } from './provider-exchange.ts'
import { openProviderPool } from './provider-pool.ts'

/** Sends a call to a provider that answers with these bytes; ends the connection behind them if `isEnded`. */
async function answered(text: string, { isEnded = false, answerMs = 60_000 } = {}) {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket
      .on('error', () => {})
      .on('data', () => {
        socket.write(text, 'latin1')
        if (isEnded) socket.end()
      })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const pool = openProviderPool(`http://${host}`, { headersMs: 60_000, bodyIdleMs: 60_000, answerMs })
  onTestFinished(async () => {
    await pool.destroy()
    server.close()
  })
  const request = { agentId: 'ada', method: 'POST' as const, path: '/', headers: {}, body: 'what?' }
  const ask = async () => {
    const { signal } = new AbortController()
    const reply = await exchange({ pool, host, signal, request })
    return { reply, body: Buffer.concat(await Array.fromAsync(reply.body)).toString('latin1') }
  }
  return { ask, connections: () => connections }
}

const head = 'HTTP/1.1 200 OK\r\n'
const chunkedHead = `${head}Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n`
const refused = { code: 'upstream-failed' }

describe('an answer of a provider', () => {
  test('has its status, its retry time and its body, and leaves its connection for the next call', async () => {
    const { ask, connections } = await answered(
      'HTTP/1.1 429 Too Many\r\nretry-after: 7\r\nRetry-After: 9\r\ncontent-length: 5\r\n\r\nhello',
    )
    const { reply, body } = await ask()
    expect([reply.status, reply.retryAfterSeconds, body]).toEqual([429, 7, 'hello'])
    await ask()
    expect(connections()).toBe(1)
  })

  test('is awaited behind interim ones (status 1xx), of which there are at most 16', async () => {
    const interim = (count: number) => 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'.repeat(count)
    const answer = `${head}content-length: 2\r\n\r\nhi`
    const { ask } = await answered(interim(16) + answer)
    expect((await ask()).body).toBe('hi')
    const more = await answered(interim(17) + answer)
    await expect(more.ask()).rejects.toMatchObject(refused)
  })

  test('in chunks that arrive together comes in one piece', async () => {
    const { ask } = await answered(`${chunkedHead}8\r\ndata: a\n\r\n8\r\ndata: b\n\r\n0\r\n\r\n`)
    const { body } = await ask()
    expect(body).toBe('data: a\ndata: b\n')
  })

  test('without a length ends with its connection', async () => {
    const { ask } = await answered(`${head}\r\nall of it`, { isEnded: true })
    expect((await ask()).body).toBe('all of it')
  })

  test('that comes in tiny chunks is cut', async () => {
    const { ask } = await answered(`${chunkedHead}${'1\r\nx\r\n'.repeat(20_000)}0\r\n\r\n`)
    await expect(ask()).rejects.toMatchObject(refused)
  })

  test('that does not end within its time limit is cut, though its reader pauses', async () => {
    const { ask } = await answered(`${chunkedHead}2\r\nhi\r\n`, { answerMs: 20 })
    await expect(ask()).rejects.toMatchObject({ code: 'upstream-timeout' })
  })

  test.each([
    ['two lengths', `${head}content-length: 2\r\ncontent-length: 3\r\n\r\nhi`],
    ['a list of lengths', `${head}content-length: 2, 2\r\n\r\nhi`],
    ['a length with a sign', `${head}content-length: +2\r\n\r\nhi`],
    ['a length beside chunks', `${head}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['lines that end in LF alone', 'HTTP/1.1 200 OK\ncontent-length: 2\r\n\r\nhi'],
    ['a blank before the colon', `${head}content-length : 2\r\n\r\nhi`],
    ['a control character in a value', `${head}a: \0\r\ncontent-length: 2\r\n\r\nhi`],
    ['another protocol', 'HTTP/2 200\r\ncontent-length: 2\r\n\r\nhi'],
    ['a change of protocol', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['no digits before a chunk', `${chunkedHead}\r\nhi\r\n`],
    ['a sign before a chunk', `${chunkedHead}+2\r\nhi\r\n0\r\n\r\n`],
    ['a prefix before a chunk', `${chunkedHead}0x2\r\nhi\r\n0\r\n\r\n`],
    ['a chunk of more bytes than anybody can count', `${chunkedHead}fffffffffffffffff\r\n`],
    ['a chunk that is longer than it says', `${chunkedHead}1\r\nhi\r\n0\r\n\r\n`],
    ['a chunk whose length ends in LF alone', `${chunkedHead}2\nhi\r\n0\r\n\r\n`],
    ['two bytes in the place of a line end', `${chunkedHead}2\r\nhiXY0\r\n\r\n`],
    ['a head beyond its bound', `${head}a: ${'x'.repeat(17_000)}\r\ncontent-length: 0\r\n\r\n`],
    ['trailers beyond their bound', `${chunkedHead}0\r\n${`a: ${'x'.repeat(100)}\r\n`.repeat(200)}\r\n`],
    ['something before it', ' HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
    ['a line feed within a line', `${head}a: b\nc: d\r\ncontent-length: 0\r\n\r\n`],
    ['a value in two lines', `${head}a: b\r\n c\r\ncontent-length: 2\r\n\r\nhi`],
  ])('with %s is refused', async (_what, text) => {
    const { ask } = await answered(text)
    await expect(ask()).rejects.toMatchObject(refused)
  })

  test.each([
    ['within its head', head],
    ['within its length', `${head}content-length: 5\r\n\r\nhel`],
    ['between chunks', `${chunkedHead}2\r\nhi\r\n`],
    ['before its last line', `${chunkedHead}2\r\nhi\r\n0\r\n`],
  ])('that breaks off %s is not taken for whole', async (_what, text) => {
    const { ask } = await answered(text, { isEnded: true })
    await expect(ask()).rejects.toMatchObject(refused)
  })

  test.each([
    ['says so', `${head}content-length: 2\r\nconnection: Keep-Alive, Close\r\n\r\nhi`],
    ['is of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi'],
    ['goes on behind its end', `${head}content-length: 2\r\n\r\nhi${head}content-length: 6\r\n\r\npoison`],
    ['states a body that its status cannot have', 'HTTP/1.1 204 No\r\ncontent-length: 6\r\n\r\n'],
  ])('does not leave its connection where it %s', async (_what, text) => {
    const { ask, connections } = await answered(text)
    const first = await ask()
    const second = await ask()
    expect(second.body).toBe(first.body)
    expect(connections()).toBe(2)
  })
})
