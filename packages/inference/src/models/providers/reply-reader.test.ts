import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BrokenReply, createReplyReader } from './reply-reader.ts'
import type { ReplyHead } from './reply-reader.ts'

/** The parts that the reader reports for these pieces; `isBroken` if they are no answer. */
function heard(pieces: readonly Uint8Array[], isEnded = false) {
  const told = {
    head: null as ReplyHead | null,
    body: '',
    pieces: 0,
    reuse: null as object | null,
    isBroken: false,
  }
  const reader = createReplyReader()
  reader.begin({
    head: (head) => (told.head = head),
    data: (bytes) => {
      told.body += Buffer.from(bytes).toString('latin1')
      told.pieces++
    },
    over: (reuse) => (told.reuse = reuse),
  })
  try {
    // Copies each piece into memory of its own, as data from a socket has.
    for (const piece of pieces) reader.take(Buffer.from(piece))
    if (isEnded) reader.end()
  } catch (error) {
    expect(error).toBeInstanceOf(BrokenReply)
    told.isBroken = true
  }
  return told
}

const whole = (text: string, isEnded = false) => heard([Buffer.from(text, 'latin1')], isEnded)

function cutAt(text: string, places: readonly number[]): Uint8Array[] {
  const bytes = Buffer.from(text, 'latin1')
  const cuts = [...new Set([0, ...places.map((place) => place % bytes.length), bytes.length])].toSorted(
    (a, b) => a - b,
  )
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end))
}

const chunkedHead = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'

describe('an answer', () => {
  test('an answer of a stated length is read, and its connection is reused', () => {
    const { head, body, reuse } = whole(
      'HTTP/1.1 429 Too Many\r\nretry-after: 7\r\ncontent-length: 5\r\n\r\nhello',
    )
    expect(head?.status).toBe(429)
    expect(head?.headers.get('retry-after')).toBe('7')
    expect(body).toBe('hello')
    expect(reuse).toEqual({ isKept: true, idleMaxMs: null })
  })

  test('an answer in chunks is the same however it is cut, and one piece for each that comes', () => {
    const texts = ['data: a\n\n', 'x'.repeat(300), '\r\n\r\n0\r\n\r\n', 'end']
    const chunks = texts.map((text) => `${text.length.toString(16)};ext=1\r\n${text}\r\n`).join('')
    const text = `${chunkedHead}${chunks.replace(';ext=1', '')}0\r\ntrailer: 1\r\n\r\n`
    const expected = { body: texts.join(''), isBroken: false, reuse: { isKept: true, idleMaxMs: null } }
    expect(whole(text)).toMatchObject({ ...expected, pieces: 1 })
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 40 }), (places) => {
        expect(heard(cutAt(text, places))).toMatchObject(expected)
      }),
      { numRuns: 500 },
    )
  })

  test('an answer in any chunks is read as their content', () => {
    const chunks = fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }), {
      maxLength: 20,
    })
    fc.assert(
      fc.property(chunks, fc.array(fc.nat(), { maxLength: 10 }), (texts, places) => {
        const framed = texts
          .map((text) => `${text.length.toString(16).toUpperCase()}\r\n${text}\r\n`)
          .join('')
        const { body, isBroken, reuse } = heard(cutAt(`${chunkedHead}${framed}0\r\n\r\n`, places))
        expect({ body, isBroken }).toEqual({ body: texts.join(''), isBroken: false })
        expect(reuse).not.toBeNull()
      }),
    )
  })

  test('an answer without a length ends with its connection', () => {
    const text = 'HTTP/1.1 200 OK\r\n\r\nall of it'
    expect(whole(text).reuse).toBeNull()
    expect(whole(text, true)).toMatchObject({ body: 'all of it', reuse: { isKept: false } })
  })

  test('the answer after an interim one (status 1xx) is awaited', () => {
    const { head, body } = whole(
      'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi',
    )
    expect([head?.status, body]).toEqual([200, 'hi'])
  })

  test.each([
    ['says so', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: Keep-Alive, Close\r\n\r\nhi'],
    ['is of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi'],
    ['goes on behind its end', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n'],
  ])('an answer does not leave its connection where it %s', (_what, text) => {
    expect(whole(text)).toMatchObject({ body: 'hi', isBroken: false, reuse: { isKept: false } })
  })

  test('an answer says for how long its connection may lie idle', () => {
    const { reuse } = whole('HTTP/1.1 200 OK\r\nkeep-alive: timeout=5, max=100\r\ncontent-length: 0\r\n\r\n')
    expect(reuse).toEqual({ isKept: true, idleMaxMs: 5000 })
  })

  test.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi'],
    ['a list of lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nhi'],
    ['a length with a sign', 'HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nhi'],
    [
      'a length beside chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['chunks and another encoding', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['lines that end in LF alone', 'HTTP/1.1 200 OK\ncontent-length: 2\r\n\r\nhi'],
    ['a value in two lines', 'HTTP/1.1 200 OK\r\na: b\r\n c\r\ncontent-length: 2\r\n\r\nhi'],
    ['a blank before the colon', 'HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nhi'],
    ['a control character in a value', 'HTTP/1.1 200 OK\r\na: \0\r\ncontent-length: 2\r\n\r\nhi'],
    ['another protocol', 'HTTP/2 200\r\ncontent-length: 2\r\n\r\nhi'],
    ['a change of protocol', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n'],
    ['no digits before a chunk', `${chunkedHead}\r\nhi\r\n`],
    ['a sign before a chunk', `${chunkedHead}+2\r\nhi\r\n0\r\n\r\n`],
    ['a prefix before a chunk', `${chunkedHead}0x2\r\nhi\r\n0\r\n\r\n`],
    ['a chunk of more bytes than anybody can count', `${chunkedHead}fffffffffffff\r\n`],
    ['a chunk that is longer than it says', `${chunkedHead}1\r\nhi\r\n0\r\n\r\n`],
    ['a chunk whose length ends in LF alone', `${chunkedHead}2\nhi\r\n0\r\n\r\n`],
  ])('an answer with %s is refused', (_what, text) => {
    expect(whole(text)).toMatchObject({ isBroken: true, reuse: null })
  })

  test.each([
    ['a head', `HTTP/1.1 200 OK\r\na: ${'x'.repeat(17_000)}`],
    ['a length of a chunk', `${chunkedHead}2;${'x'.repeat(300)}`],
    ['what stands behind the last chunk', `${chunkedHead}0\r\n${`a: ${'x'.repeat(100)}\r\n`.repeat(200)}`],
    ['announcements', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(17)],
  ])('an answer is refused once %s has no end', (_what, text) => {
    expect(whole(text).isBroken).toBe(true)
    expect(
      heard(
        cutAt(
          text,
          Array.from({ length: 50 }, (_, index) => index * 397),
        ),
      ).isBroken,
    ).toBe(true)
  })

  test.each([
    ['within its head', 'HTTP/1.1 200 OK\r\n'],
    ['within its length', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel'],
    ['between chunks', `${chunkedHead}2\r\nhi\r\n`],
    ['before its last line', `${chunkedHead}2\r\nhi\r\n0\r\n`],
  ])('an answer that breaks off %s is not taken for whole', (_what, text) => {
    expect(whole(text, true)).toMatchObject({ isBroken: true, reuse: null })
  })

  test.each([
    ['a head', (room: number) => `HTTP/1.1 204 No\r\na: ${'x'.repeat(room - 20)}\r\n\r\n`, 16 * 1024],
    [
      'a length with what stands behind it',
      (room: number) => `${chunkedHead}0;${'x'.repeat(room - 4)}\r\n\r\n`,
      256,
    ],
    [
      'what stands behind the last chunk',
      (room: number) => `${chunkedHead}0\r\n${'a: b\r\n'.repeat(10)}a: ${'x'.repeat(room - 67)}\r\n\r\n`,
      16 * 1024,
    ],
    ['a number of digits', (room: number) => `${chunkedHead}${'0'.repeat(room)}\r\n\r\n`, 12],
    [
      'a length in the head',
      (room: number) => `HTTP/1.1 200 OK\r\ncontent-length: ${'0'.repeat(room)}\r\n\r\n`,
      15,
    ],
    [
      'a number of announcements',
      (room: number) => `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(room)}HTTP/1.1 204 No\r\n\r\n`,
      16,
    ],
  ])('an answer with %s is whole up to its bound, and is refused one beyond it', (_what, answer, bound) => {
    const inPieces = (text: string) => cutAt(text, [9, 1000, text.length - 3])
    expect(whole(answer(bound))).toMatchObject({ isBroken: false, reuse: { isKept: true } })
    expect(heard(inPieces(answer(bound)))).toMatchObject({ isBroken: false, reuse: { isKept: true } })
    expect(whole(answer(bound + 1)).isBroken).toBe(true)
    expect(heard(inPieces(answer(bound + 1))).isBroken).toBe(true)
  })

  test.each([204, 304])('an answer of status %i has no body, whatever length it states', (status) => {
    const text = `HTTP/1.1 ${status} \r\ncontent-length: 5\r\n\r\n`
    expect(whole(text)).toMatchObject({ head: { status }, body: '', reuse: { isKept: true } })
  })

  test('an answer after one that was announced may be announced as often', () => {
    const reader = createReplyReader()
    const text = `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(16)}HTTP/1.1 204 No\r\n\r\n`
    const reuses: object[] = []
    for (const _time of [1, 2]) {
      reader.begin({ head: () => {}, data: () => {}, over: (reuse) => reuses.push(reuse) })
      reader.take(Buffer.from(text))
    }
    expect(reuses).toHaveLength(2)
  })

  test('the first of a repeated header counts, with a lower-case name and without blanks', () => {
    const { head } = whole('HTTP/1.1 200 OK\r\nX-A:  one \r\nx-a: two\r\nempty:\r\ncontent-length: 0\r\n\r\n')
    expect([...(head?.headers ?? [])]).toEqual([
      ['x-a', 'one'],
      ['empty', ''],
    ])
  })

  test('an answer needs no reason phrase, and reports no body if it has none', () => {
    expect(whole('HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi')).toMatchObject({ body: 'hi', pieces: 1 })
    expect(whole('HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n')).toMatchObject({ isBroken: false, pieces: 0 })
  })

  test('an answer is refused with the first byte that its head has no room for', () => {
    const most = 16 * 1024 + 3
    expect(whole('x'.repeat(most)).isBroken).toBe(false)
    expect(whole('x'.repeat(most + 1)).isBroken).toBe(true)
  })

  test.each([16, 255, 256, 300, 70_000])(
    'an answer has a chunk of %i bytes in digits of either case',
    (length) => {
      const size = length.toString(16)
      for (const digits of [size, size.toUpperCase(), size.padStart(12, '0')]) {
        const text = `${chunkedHead}${digits}\r\n${'x'.repeat(length)}\r\n0\r\n\r\n`
        expect(whole(text)).toMatchObject({
          body: 'x'.repeat(length),
          isBroken: false,
          reuse: { isKept: true },
        })
      }
    },
  )

  test('an answer may state the same length twice', () => {
    expect(whole('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nhi')).toMatchObject({
      body: 'hi',
    })
  })

  test('an answer may name its chunks in any case', () => {
    const text = 'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\nA \r\n0123456789\r\n0\r\n\r\n'
    expect(whole(text)).toMatchObject({ body: '0123456789', reuse: { isKept: true } })
  })

  test.each([
    ['close', false],
    ['keep-alive,close', false],
    ['close ,x', false],
    ['CLOSE', false],
    ['enclose', true],
    ['closed', true],
    ['not-close', true],
  ])('an answer with "connection: %s" leaves its connection: %s', (said, isKept) => {
    const text = `HTTP/1.1 200 OK\r\nconnection: ${said}\r\ncontent-length: 0\r\n\r\n`
    expect(whole(text).reuse).toMatchObject({ isKept })
  })

  test.each([
    ['timeout=7', 7000],
    ['timeout=123456', 123_456_000],
    ['max=3, timeout=7', 7000],
    ['Timeout=7,max=3', 7000],
    ['xtimeout=7', null],
    ['timeout=7s', null],
    ['timeout=1234567', null],
    ['timeout=', null],
  ])('an answer with "keep-alive: %s" may lie idle for %s ms', (said, idleMaxMs) => {
    const text = `HTTP/1.1 200 OK\r\nkeep-alive: ${said}\r\ncontent-length: 0\r\n\r\n`
    expect(whole(text).reuse).toMatchObject({ idleMaxMs })
  })

  test.each([
    ['a name that is none', 'HTTP/1.1 200 OK\r\na b: c\r\ncontent-length: 0\r\n\r\n'],
    ['no colon', 'HTTP/1.1 200 OK\r\nabc\r\ncontent-length: 0\r\n\r\n'],
    ['nothing before a colon', 'HTTP/1.1 200 OK\r\n: c\r\ncontent-length: 0\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n'],
    ['something before it', ' HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
    ['a version that nobody knows', 'HTTP/1.2 200 OK\r\ncontent-length: 0\r\n\r\n'],
    ['a carriage return within a line', 'HTTP/1.1 200 OK\r\na: b\rc\r\ncontent-length: 0\r\n\r\n'],
    ['a line feed within a line', 'HTTP/1.1 200 OK\r\na: b\nc: d\r\ncontent-length: 0\r\n\r\n'],
    ['a rubout in a value', 'HTTP/1.1 200 OK\r\na: \x7f\r\ncontent-length: 0\r\n\r\n'],
    [
      'two encodings',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a length that is no number', 'HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n'],
    ['a blank before the digits of a chunk', `${chunkedHead} 2\r\nhi\r\n0\r\n\r\n`],
    ['words behind the digits of a chunk', `${chunkedHead}2 hi\r\nhi\r\n0\r\n\r\n`],
    ['a control character behind the digits of a chunk', `${chunkedHead}2;\0\r\nhi\r\n0\r\n\r\n`],
    ['a blank and LF alone behind the digits of a chunk', `${chunkedHead}2 \nhi\r\n0\r\n\r\n`],
    ['a chunk that ends in something and LF', `${chunkedHead}2\r\nhiX\n0\r\n\r\n`],
    ['two bytes in the place of a line end', `${chunkedHead}2\r\nhiXY0\r\n\r\n`],
    ['two carriage returns behind a chunk', `${chunkedHead}2\r\nhi\r\r\n0\r\n\r\n`],
    ['a chunk that ends in LF alone', `${chunkedHead}2\r\nhi\n0\r\n\r\n`],
  ])('an answer with %s is refused too, in one piece and byte by byte', (_what, text) => {
    expect(whole(text)).toMatchObject({ isBroken: true, reuse: null })
    const bytes = cutAt(
      text,
      Array.from({ length: text.length }, (_, index) => index),
    )
    expect(heard(bytes)).toMatchObject({ isBroken: true, reuse: null })
  })

  test('an answer without a length is complete though it is empty, and its end is reported once', () => {
    const reuses: object[] = []
    const reader = createReplyReader()
    reader.begin({ head: () => {}, data: () => {}, over: (reuse) => reuses.push(reuse) })
    reader.take(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'))
    reader.end()
    reader.end()
    expect(reuses).toEqual([{ isKept: false, idleMaxMs: null }])
  })

  test('an answer keeps what came before it broke', () => {
    expect(whole(`${chunkedHead}2\r\nhi\r\nnonsense\r\n`)).toMatchObject({ body: 'hi', isBroken: true })
  })

  test('an answer without a request is rejected', () => {
    const reader = createReplyReader()
    expect(() => reader.take(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'))).toThrow(BrokenReply)
  })

  test('an answer of arbitrary bytes throws only the error for broken answers', () => {
    const pieces = fc.constantFrom(
      'HTTP/1.1 200 OK',
      '\r\n',
      '\n',
      'a: b',
      'transfer-encoding: chunked',
      '5',
      'hello',
      '0',
      ';',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
        // The reader throws no other error, which a test above checks.
        const { reuse, isBroken } = heard(
          parts.map((part) => Buffer.from(part)),
          true,
        )
        expect(reuse === null || !isBroken).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})
