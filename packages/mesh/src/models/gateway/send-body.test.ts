import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { createByteStream } from '../providers/byte-stream.ts'
import type { ByteSink, ByteStream } from '../providers/byte-stream.ts'
import { sendBody } from './send-body.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A server that answers each call with what `bodyOf` gives. Returns its port. */
async function aServer(bodyOf: (response: ServerResponse) => Uint8Array | ByteStream): Promise<number> {
  const server = createServer((_request, response) => {
    const body = bodyOf(response)
    const length = body instanceof Uint8Array ? { 'content-length': body.length } : {}
    response.writeHead(200, { 'content-type': 'text/event-stream', ...length })
    sendBody(response, body)
  })
  closing.push(() => server.close().closeAllConnections())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** All that came over the line. */
async function asked(port: number, version = '1.1'): Promise<{ head: string; body: Buffer }> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET / HTTP/${version}\r\nhost: a\r\nconnection: close\r\n\r\n`)
  const all = await buffer(socket)
  const end = all.indexOf('\r\n\r\n')
  return { head: all.toString('latin1', 0, end).toLowerCase(), body: all.subarray(end + 4) }
}

/** What chunks carry, read as strictly as anybody may; throws where a mark is wrong. */
function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const end = bytes.indexOf('\r\n', at)
    const digits = bytes.toString('latin1', at, end)
    expect(digits).toMatch(/^[0-9a-f]+$/)
    const length = Number.parseInt(digits, 16)
    const from = end + 2
    expect(bytes.toString('latin1', from + length, from + length + 2)).toBe('\r\n')
    at = from + length + 2
    if (length === 0) break
    parts.push(bytes.subarray(from, from + length))
    expect(at).toBeLessThan(bytes.length)
  }
  return Buffer.concat(parts)
}

/** Turns of the loop, each with the pieces that come in it; the end comes with the last, or in a turn of its own. */
function inTurns(turns: readonly (readonly Uint8Array[])[], endsAlone = false): ByteStream {
  return createByteStream((sink) => {
    const go = (index: number): void => {
      for (const piece of turns[index] ?? []) sink.write(piece)
      if (index < turns.length - (endsAlone ? 0 : 1)) setImmediate(go, index + 1)
      else sink.end()
    }
    setImmediate(go, 0)
    return { resume: () => {}, cut: () => {} }
  })
}

describe('the body of an answer', () => {
  test('of a stream is the same bytes, whatever they are and however they come', async () => {
    const pieces = fc.array(fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 4 }), {
      minLength: 1,
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(pieces, fc.boolean(), async (turns, endsAlone) => {
        const { head, body } = await asked(await aServer(() => inTurns(turns, endsAlone)))
        expect(head).toContain('transfer-encoding: chunked')
        expect(unchunked(body)).toEqual(Buffer.concat(turns.flat()))
      }),
      { numRuns: 30 },
    )
  })

  test('of one turn leaves in one write, with the head before it and the end behind it', async () => {
    const writes: string[] = []
    const port = await aServer((response) => {
      const socket = response.socket
      const write = socket?.write.bind(socket)
      Object.assign(socket ?? {}, {
        write: (...given: Parameters<NonNullable<typeof write>>) => {
          if (given[0].length > 0) writes.push(String(given[0]))
          return write?.(...given)
        },
      })
      return createByteStream((sink) => {
        setImmediate(() => {
          sink.write(Buffer.from('data: a\n\n'))
          sink.write(Buffer.from('data: b\n\n'))
          sink.end()
        })
        return { resume: () => {}, cut: () => {} }
      })
    })
    await asked(port)
    expect(writes).toHaveLength(1)
    expect(writes[0]).toMatch(
      /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n9\r\ndata: a\n\n\r\n9\r\ndata: b\n\n\r\n0\r\n\r\n$/,
    )
  })

  test('has no marks of chunks for a client that knows none', async () => {
    const { head, body } = await asked(
      await aServer(() => inTurns([[Buffer.from('a')], [Buffer.from('b')]])),
      '1.0',
    )
    expect(head).not.toContain('transfer-encoding')
    expect(body.toString()).toBe('ab')
  })

  test.each([3, 65 * 1024])('that is whole is the same bytes, %i of them', async (length) => {
    const bytes = Buffer.from(Array.from({ length }, (_, index) => 255 - (index % 256)))
    expect((await asked(await aServer(() => bytes))).body).toEqual(bytes)
  })

  test('waits for a client that reads slowly, and goes on', async () => {
    const piece = Buffer.alloc(256 * 1024, 'x')
    const pieces = 40
    let written = 0
    let waited = 0
    const port = await aServer(() =>
      createByteStream((sink) => {
        const go = (): void => {
          while (written < pieces) {
            written++
            if (sink.write(piece)) continue
            waited++
            return
          }
          sink.end()
        }
        setImmediate(go)
        return { resume: go, cut: () => {} }
      }),
    )
    const { body } = await asked(port)
    expect(unchunked(body)).toHaveLength(pieces * piece.length)
    expect(waited).toBeGreaterThan(0)
  })

  test('is cut off at its source once the client has gone, and what comes all the same makes nothing fail', async () => {
    const cut = Promise.withResolvers<ByteSink>()
    const errors: unknown[] = []
    const port = await aServer((response) => {
      response.on('error', (error) => errors.push(error))
      return createByteStream((sink) => {
        setImmediate(() => sink.write(Buffer.from('data: a\n\n')))
        return { resume: () => {}, cut: () => cut.resolve(sink) }
      })
    })
    const socket = connect(port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await once(socket, 'data')
    socket.destroy()
    const sink = await cut.promise
    sink.write(Buffer.from('data: b\n\n'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(errors).toEqual([])
  })

  test('that fails leaves no end that could be taken for one', async () => {
    const port = await aServer(() =>
      createByteStream((sink) => {
        setImmediate(() => {
          sink.write(Buffer.from('data: a\n\n'))
          setImmediate(() => sink.fail(new Error('broken')))
        })
        return { resume: () => {}, cut: () => {} }
      }),
    )
    const { body } = await asked(port)
    expect(body.toString()).toBe('9\r\ndata: a\n\n\r\n')
  })
})
