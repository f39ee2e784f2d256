import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../../../../../tests/support/eventually.ts'
import {
  fields,
  flags,
  frame,
  frameTypes,
  preface,
  readFrames,
} from '../../../../testing/src/http2-frames.ts'
import { anInspectedHttp2Site, openSession } from '../../../../testing/src/inspection-harness.ts'
import type { InspectionOptions } from '../../../../testing/src/inspection-harness.ts'
import { http2Limits } from './http2-limits.ts'

const running: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of running.splice(0).toReversed()) await one.close()
})

const host = 'code.test'
const whole = flags.endStream | flags.endHeaders

type Pairs = readonly (readonly [name: string, value: string])[]

/** A site that speaks HTTP/2, and an attacker's connection to it on which frames are written by hand. */
async function anAttacker(
  answer?: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
  { settings, ...options }: InspectionOptions & { readonly settings?: Parameters<typeof preface>[0] } = {},
) {
  const { site, proxy, requests, target } = await anInspectedHttp2Site(host, running, { answer, ...options })
  const connection = await proxy.open(target, { ALPNProtocols: ['h2'] })
  const reader = readFrames(connection)
  connection.write(preface(settings))
  const usual: Pairs = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', target],
    [':path', '/'],
  ]
  const open = (stream: number, pairs: Pairs = usual, flag: number = whole) =>
    frame(frameTypes.headers, flag, stream, fields(pairs))
  const ofStream = (stream: number) => reader.frames.filter((one) => one.stream === stream)
  return { site, proxy, requests, target, connection, reader, usual, open, ofStream }
}

const resetOf = (frames: readonly { readonly type: number; readonly payload: Buffer }[]) =>
  frames.find(({ type }) => type === frameTypes.reset)?.payload.readUInt32BE(0)

describe('headers of a stream that could be read in two ways', () => {
  const changed = (name: string, value: string) => (usual: Pairs) =>
    usual.map((pair) => (pair[0] === name ? ([name, value] as const) : pair))
  const without = (name: string) => (usual: Pairs) => usual.filter(([other]) => other !== name)
  const more =
    (...pairs: Pairs) =>
    (usual: Pairs) => [...usual, ...pairs]

  test.each<readonly [string, (usual: Pairs, target: string) => Pairs]>([
    ['another host', changed(':authority', 'evil.test')],
    ['another port', changed(':authority', 'code.test:1')],
    ['a user before the host', (usual, target) => changed(':authority', `${target}@evil.test`)(usual)],
    ['a host that differs from the authority', more(['host', 'evil.test'])],
    ['a host alone that is another', (usual) => more(['host', 'evil.test'])(without(':authority')(usual))],
    ['no host', without(':authority')],
    ['two authorities', more([':authority', 'evil.test'])],
    ['two methods', (usual) => [[':method', 'POST'], ...usual]],
    ['two paths', (usual) => [[':path', '/other'], ...usual]],
    ['no path', without(':path')],
    ['no method', without(':method')],
    ['no scheme', without(':scheme')],
    ['plain HTTP', changed(':scheme', 'http')],
    ['an absolute path', changed(':path', 'https://evil.test/')],
    ['a path with a line end', changed(':path', '/ HTTP/1.1\r\nHost: evil.test\r\n\r\nGET /smuggled')],
    ['a path with a space', changed(':path', '/a HTTP/1.1')],
    ['a path with a fragment', changed(':path', '/a#b')],
    ['a method with a line end', changed(':method', 'GET / HTTP/1.1\r\nHost: evil.test\r\n\r\nGET')],
    ['TRACE', changed(':method', 'TRACE')],
    ['CONNECT', (usual) => without(':scheme')(without(':path')(changed(':method', 'CONNECT')(usual)))],
    [
      'a WebSocket (RFC 8441)',
      (usual) => [
        ...changed(':method', 'CONNECT')(usual),
        [':protocol', 'websocket'],
        ['sec-websocket-version', '13'],
      ],
    ],
    ['an unknown pseudo-header', (usual) => [[':unknown', 'a'], ...usual]],
    ['a pseudo-header behind a header', (usual) => [['x-a', 'b'], ...usual]],
    ['a transfer encoding', more(['transfer-encoding', 'chunked'])],
    ['a connection header', more(['connection', 'keep-alive, authorization'])],
    ['keep-alive', more(['keep-alive', 'timeout=5'])],
    ['a proxy connection', more(['proxy-connection', 'keep-alive'])],
    ['an upgrade', more(['upgrade', 'h2c'])],
    ['another TE', more(['te', 'gzip'])],
    ['a name in capitals', more(['Transfer-Encoding', 'chunked'])],
    ['two lengths', more(['content-length', '0'], ['content-length', '5'])],
    ['a length without a body', more(['content-length', '5'])],
    ['a length that is no number', more(['content-length', '+0'])],
  ])('%s is refused, and nothing reaches the server', async (_what, pairsOf) => {
    const { connection, requests, ofStream, reader, usual, target, open } = await anAttacker()
    connection.write(open(1, pairsOf(usual, target)))
    await eventually('the stream is refused', async () => {
      const frames = ofStream(1)
      return (
        frames.some(({ type }) => type === frameTypes.data || type === frameTypes.reset) || reader.isClosed()
      )
    })
    const data = ofStream(1).find(({ type }) => type === frameTypes.data)
    if (data) expect(data.payload.toString()).toMatch(/"code":"(?:bad-request|destination-refused)"/)
    connection.write(frame(frameTypes.ping, 0, 0, Buffer.alloc(8)))
    await eventually(
      'the connection was read to here',
      async () =>
        reader.isClosed() ||
        reader.frames.some(({ type, flags: flag }) => type === frameTypes.ping && flag === 1),
    )
    expect(requests).toEqual([])
  })

  test.each([
    ['a value', ['x-a', 'b\r\nHost: evil.test']],
    ['a value with a zero byte', ['x-a', 'b\0c']],
    ['a name', ['x-a: b\r\nhost', 'evil.test']],
    ['a name with a colon', ['transfer-encoding: chunked\r\nx', 'y']],
  ] as const)('a line end in %s does not reach the server', async (_what, pair) => {
    const { connection, requests, ofStream, usual, open } = await anAttacker()
    connection.write(open(1, [...usual, ['x-before', 'a'], pair, ['x-after', 'b']]))
    await eventually('an answer or a reset', async () => ofStream(1).length > 0)
    for (const { headers } of requests) {
      expect(JSON.stringify(headers)).not.toMatch(/evil|chunked/)
      expect(headers).toMatchObject({ 'x-before': 'a', 'x-after': 'b' })
    }
  })

  test('a body longer or shorter than its length does not look complete to the server', async () => {
    for (const [length, sent] of [
      [3, 'abcdef'],
      [6, 'abc'],
    ] as const) {
      const ends: string[] = []
      const { connection, reader, ofStream, usual, open } = await anAttacker((request) => {
        request
          .on('end', () => ends.push('end'))
          .on('aborted', () => ends.push('aborted'))
          .resume()
      })
      const pairs = usual.map((pair) => (pair[0] === ':method' ? ([':method', 'POST'] as const) : pair))
      connection.write(open(1, [...pairs, ['content-length', `${length}`]], flags.endHeaders))
      connection.write(frame(frameTypes.data, flags.endStream, 1, Buffer.from(sent)))
      await eventually('the end', async () => resetOf(ofStream(1)) !== undefined || reader.isClosed())
      expect(ends[0]).not.toBe('end')
    }
  })
})

describe('floods of an HTTP/2 connection', () => {
  /** Writes the frames again and again until the connection is closed; returns how many were written. */
  async function flood(attacker: Awaited<ReturnType<typeof anAttacker>>, piece: (round: number) => Buffer) {
    const { connection, reader } = attacker
    let rounds = 0
    while (!reader.isClosed() && rounds < 20_000) {
      const isRoom = connection.write(piece(rounds++))
      await new Promise((resolve) =>
        isRoom ? setImmediate(resolve) : connection.once('drain', resolve).once('close', resolve),
      )
    }
    return rounds
  }

  test.each<readonly [string, (round: number) => Buffer]>([
    ['PING', () => frame(frameTypes.ping, 0, 0, Buffer.alloc(8))],
    ['SETTINGS', () => frame(frameTypes.settings, 0, 0)],
    ['empty DATA on a stream that is open', () => frame(frameTypes.data, 0, 1)],
  ])('%s frames end the connection', async (what, piece) => {
    const attacker = await anAttacker(() => {})
    if (what.startsWith('empty'))
      attacker.connection.write(attacker.open(1, attacker.usual, flags.endHeaders))
    const rounds = await flood(attacker, piece)
    expect(attacker.reader.isClosed()).toBe(true)
    expect(rounds).toBeLessThan(20_000)
  })

  test('CONTINUATION frames without an end close the connection', async () => {
    const attacker = await anAttacker()
    attacker.connection.write(attacker.open(1, attacker.usual, flags.endStream))
    await flood(attacker, (round) => frame(frameTypes.continuation, 0, 1, fields([[`x-${round}`, 'a']])))
    expect(attacker.reader.isClosed()).toBe(true)
    expect(attacker.requests).toEqual([])
  })

  test('streams that are reset at once end the connection', async () => {
    const attacker = await anAttacker(() => {})
    await flood(attacker, (round) => {
      const stream = round * 2 + 1
      return Buffer.concat([
        attacker.open(stream),
        frame(frameTypes.reset, 0, stream, Buffer.from([0, 0, 0, 8])),
      ])
    })
    expect(attacker.reader.isClosed()).toBe(true)
    expect(attacker.requests.length).toBeLessThanOrEqual(http2Limits.resetsMax + http2Limits.streamsMax)
  })

  test('streams beyond the maximum are reset, and many of them end the connection', async () => {
    const attacker = await anAttacker(() => {})
    const { streamsMax } = http2Limits
    const ids = Array.from({ length: streamsMax + 5 }, (_, at) => at * 2 + 1)
    attacker.connection.write(Buffer.concat(ids.map((id) => attacker.open(id))))
    await eventually(
      'resets',
      async () => attacker.reader.frames.filter(({ type }) => type === frameTypes.reset).length === 5,
    )
    expect(attacker.requests.length).toBeLessThanOrEqual(streamsMax)
    await flood(attacker, (round) => attacker.open((streamsMax + 5 + round) * 2 + 1))
    expect(attacker.reader.isClosed()).toBe(true)
    expect(attacker.requests.length).toBeLessThanOrEqual(streamsMax)
  })

  test('requests that are refused again and again end the connection', async () => {
    const attacker = await anAttacker()
    const wrong = attacker.usual.map(([name, value]) => [name, name === ':scheme' ? 'http' : value] as const)
    await flood(attacker, (round) => attacker.open(round * 2 + 1, wrong))
    expect(attacker.reader.isClosed()).toBe(true)
    const answers = attacker.reader.frames.filter(({ type }) => type === frameTypes.headers)
    expect(answers.length).toBeLessThanOrEqual(http2Limits.refusedMax + http2Limits.streamsMax)
    expect(attacker.requests).toEqual([])
  })

  test('headers that become large by decompression are refused', async () => {
    const { connection, requests, ofStream, usual } = await anAttacker()
    // The table gets one field of 3 kB, which one byte each repeats.
    const [name, value] = [Buffer.from('x-large'), Buffer.alloc(3000, 'a')]
    const added = Buffer.concat([
      Buffer.from([0x40, name.length]),
      name,
      Buffer.from([127, 0xb9, 0x16]),
      value,
    ])
    const repeated = Buffer.alloc(100, 0x80 | 62)
    connection.write(frame(frameTypes.headers, whole, 1, Buffer.concat([fields(usual), added, repeated])))
    await eventually('a refusal', async () =>
      ofStream(1).some(({ payload }) => payload.includes('body-too-large')),
    )
    expect(requests).toEqual([])
  })

  test('more header fields than the maximum are refused', async () => {
    const { connection, requests, ofStream, usual, open } = await anAttacker()
    const many = Array.from({ length: http2Limits.headerFieldsMax }, (_, at) => [`x-${at}`, 'a'] as const)
    connection.write(open(1, [...usual, ...many]))
    await eventually('the stream is reset', async () => resetOf(ofStream(1)) !== undefined)
    expect(requests).toEqual([])
  })

  test('a body in DATA frames of one byte is refused', async () => {
    const attacker = await anAttacker((request) => void request.resume())
    const { connection, ofStream, usual, open } = attacker
    connection.write(open(1, usual, flags.endHeaders))
    const one = frame(frameTypes.data, 0, 1, Buffer.from('a'))
    for (let at = 0; at < 40 && resetOf(ofStream(1)) === undefined; at++) {
      connection.write(Buffer.concat(Array.from({ length: 100 }, () => one)))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await eventually('the stream is reset', async () => resetOf(ofStream(1)) !== undefined)
    expect(attacker.reader.isClosed()).toBe(false)
  })

  test('answers that the client does not read are reset, and hold no more of the server than their window', async () => {
    let written = 0
    const attacker = await anAttacker(
      (_request, response) => {
        const more = () => {
          while (!response.destroyed && !response.stream.destroyed && written < 64 * 1024 * 1024) {
            written += 16_384
            if (!response.write(Buffer.alloc(16_384))) break
          }
        }
        response.on('drain', more)
        more()
      },
      { settings: [[4, 0]], stalledStreamMs: 300 },
    )
    attacker.connection.write(attacker.open(1))
    await eventually('the stream is reset', async () => resetOf(attacker.ofStream(1)) !== undefined)
    expect(attacker.ofStream(1).some(({ type }) => type === frameTypes.data)).toBe(false)
    expect(written).toBeLessThan(4 * http2Limits.windowBytes)
  })

  test('an answer that begins long before its body is reset as well if the client does not read it', async () => {
    const stalledStreamMs = 100
    const attacker = await anAttacker(
      (_request, { stream }) => {
        stream.respond({ ':status': 200 })
        // The time of the mesh for the stream ends once before anything waits for the client.
        stream.setTimeout(3 * stalledStreamMs, () => void stream.end(Buffer.alloc(16_384)))
      },
      { settings: [[4, 0]], stalledStreamMs },
    )
    attacker.connection.write(attacker.open(1))
    await eventually('the stream is reset', async () => resetOf(attacker.ofStream(1)) !== undefined)
    expect(attacker.requests[0]?.stream.writableEnded).toBe(true)
  })

  test('an agent whose streams all wait does not keep another agent from its answers', async () => {
    const attacker = await anAttacker((request, response) => {
      if (request.url === '/other') response.end('an answer')
    })
    const { proxy, target, connection, open, requests } = attacker
    connection.write(
      Buffer.concat(Array.from({ length: http2Limits.streamsMax }, (_, at) => open(at * 2 + 1))),
    )
    await eventually('all wait', async () => requests.length === http2Limits.streamsMax)
    const second = await proxy.open(target, { ALPNProtocols: ['h2'] })
    const more = readFrames(second)
    second.write(Buffer.concat([preface(), ...Array.from({ length: 40 }, (_, at) => open(at * 2 + 1))]))
    await eventually(
      'the share of the agent is used',
      async () =>
        more.frames.some(
          ({ type, payload }) => type === frameTypes.data && payload.toString().includes('rate-limited'),
        ) || requests.length === 2 * http2Limits.streamsMax,
    )
    const session = await openSession(proxy, target, 'other-program')
    running.push(session)
    const stream = session.request({ ':path': '/other' })
    let body = ''
    for await (const chunk of stream) body += String(chunk)
    expect(body).toBe('an answer')
    expect(requests.filter(({ url }) => url === '/').length).toBeLessThanOrEqual(64)
  })
})
