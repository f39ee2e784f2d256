import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createBodyReader } from './read-bounded-body.ts'

const bounds = {
  maxBytes: 1000,
  maxMs: 10_000,
  heldMaxBytes: 2500,
  heldPerPlaceMaxBytes: 1500,
}

/** A real server that reads bodies with the reader and records each result. */
async function aReader() {
  const clock = createManualClock()
  const reader = createBodyReader(bounds, clock)
  const ends: Promise<Buffer | string>[] = []
  const came: number[] = []
  const server = createServer((request, response) => {
    const end = reader
      .read(request, request.url ?? '', () => new Problem('body-too-large'))
      .catch((error: unknown) => (error instanceof Problem ? error.code : String(error)))
    const at = ends.push(end) - 1
    request.on('data', (part: Buffer) => (came[at] = (came[at] ?? 0) + part.length))
    void end.then(() => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    clock,
    end: async (at: number) => ends[at],
    begun: async (count: number) => {
      await expect.poll(() => ends.length).toBeGreaterThanOrEqual(count)
    },
    held: async (at: number, bytes: number) => {
      await expect.poll(() => came[at]).toBe(bytes)
    },
    open: (head: string, place = '/'): Socket => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      sockets.push(socket)
      socket.write(`POST ${place} HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n`)
      return socket
    },
  }
}

describe('a bounded body', () => {
  test('a bounded body is the bytes that came', async () => {
    const reader = await aReader()
    reader.open('transfer-encoding: chunked').write('3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n')
    await reader.begun(1)
    expect(String(await reader.end(0))).toBe('abcde')
  })

  test('a bounded body is refused with the first byte too many, before all of it came', async () => {
    const reader = await aReader()
    const socket = reader.open('transfer-encoding: chunked')
    socket.write(`3e8\r\n${'x'.repeat(1000)}\r\n`)
    await reader.begun(1)
    socket.write('1\r\nx\r\n')
    expect(await reader.end(0)).toBe('body-too-large')
  })

  test('a body that arrives slowly is rejected at its total deadline, even if bytes keep arriving', async () => {
    const reader = await aReader()
    const socket = reader.open('content-length: 900')
    await reader.begun(1)
    for (let drop = 0; drop < 10; drop++) {
      socket.write('x')
      await reader.clock.advance(bounds.maxMs / 10)
    }
    expect(await reader.end(0)).toBe('body-late')
  })

  test('a body whose connection breaks ends at once', async () => {
    const reader = await aReader()
    const socket = reader.open('content-length: 900')
    await reader.begun(1)
    socket.destroy()
    expect(await reader.end(0)).toBe('bad-request')
  })

  test('a bounded body waits for its rest at one place, and leaves room at the others', async () => {
    const reader = await aReader()
    reader.open('content-length: 1000').write('x'.repeat(900))
    await reader.begun(1)
    await reader.held(0, 900)
    reader.open('content-length: 1000').write('x'.repeat(900))
    await reader.begun(2)
    expect(await reader.end(1)).toBe('rate-limited')
    reader.open('content-length: 900', '/other').write('x'.repeat(900))
    await reader.begun(3)
    expect(await reader.end(2)).toHaveLength(900)
    reader.open('content-length: 1000', '/other').write('x'.repeat(900))
    await reader.begun(4)
    await reader.held(3, 900)
    reader.open('content-length: 900', '/third').write('x'.repeat(900))
    await reader.begun(5)
    expect(await reader.end(4)).toBe('rate-limited')
  })

  test('a bounded body shares its memory with all others, and gives it back', async () => {
    const reader = await aReader()
    const slow = reader.open('content-length: 1000')
    slow.write('x'.repeat(900))
    await reader.begun(1)
    await reader.held(0, 900)
    reader.open('content-length: 900').write('x'.repeat(900))
    await reader.begun(2)
    expect(await reader.end(1)).toBe('rate-limited')
    slow.write('x'.repeat(100))
    expect(await reader.end(0)).toHaveLength(1000)
    reader.open('content-length: 1000').write('x'.repeat(1000))
    await reader.begun(3)
    expect(await reader.end(2)).toHaveLength(1000)
  })
})
