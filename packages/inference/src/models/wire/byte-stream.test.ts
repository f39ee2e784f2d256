import { describe, expect, test } from 'vitest'
import { createByteStream, pipeBytes } from './byte-stream.ts'
import type { ByteSink } from './byte-stream.ts'

const bytes = (text: string) => Buffer.from(text)

/** A source that the test pushes, with a record of the reader's calls. */
function aSource() {
  let to: ByteSink | null = null
  const texts: string[] = []
  const stream = createByteStream((sink) => {
    to = sink
    return { resume: () => texts.push('resume'), cut: () => texts.push('cut') }
  })
  return { stream, said: texts, sink: () => to as unknown as ByteSink }
}

function aSink(room: () => boolean = () => true) {
  const received: string[] = []
  const sink: ByteSink = {
    write: (piece) => {
      received.push(Buffer.from(piece).toString())
      return room()
    },
    end: () => received.push('end'),
    fail: (error) => received.push(`fail: ${String(error)}`),
  }
  return { heard: received, sink }
}

describe('a stream of bytes', () => {
  test('an iterated stream gives every piece and then ends', async () => {
    const { stream, sink } = aSource()
    const reading = Array.fromAsync(stream, (piece) => Buffer.from(piece).toString())
    sink().write(bytes('a'))
    sink().write(bytes('b'))
    sink().end()
    expect(await reading).toEqual(['a', 'b'])
  })

  test('a failing stream throws after the pieces that arrived before', async () => {
    const { stream, sink } = aSource()
    const seen: string[] = []
    const reading = (async () => {
      for await (const piece of stream) seen.push(Buffer.from(piece).toString())
    })()
    sink().write(bytes('a'))
    sink().fail(new Error('broken'))
    await expect(reading).rejects.toThrow('broken')
    expect(seen).toEqual(['a'])
  })

  test('a stream of bytes is cut by a reader that leaves', async () => {
    const { stream, sink, said } = aSource()
    const reading = (async () => {
      for await (const _piece of stream) break
    })()
    sink().write(bytes('a'))
    await reading
    expect(said).toContain('cut')
  })
})

describe('a source without a pipe', () => {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield bytes('a')
    yield bytes('b')
  }

  test('a source without a pipe waits for a sink that has no room', async () => {
    let hasRoom = false
    const { heard, sink } = aSink(() => hasRoom)
    const flow = pipeBytes(pieces(), sink)
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard).toEqual(['a'])
    hasRoom = true
    flow.resume()
    await expect.poll(() => heard).toEqual(['a', 'b', 'end'])
  })

  test('a source without a pipe emits nothing after it is aborted', async () => {
    const { heard, sink } = aSink(() => false)
    pipeBytes(pieces(), sink).cut()
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard.filter((word) => word !== 'a')).toEqual([])
  })

  test('a source without a pipe reports its own failure', async () => {
    const { heard, sink } = aSink()
    // oxlint-disable-next-line require-yield -- a source that fails at once
    async function* failing(): AsyncGenerator<Uint8Array> {
      throw new Error('broken')
    }
    pipeBytes(failing(), sink)
    await expect.poll(() => heard).toEqual(['fail: Error: broken'])
  })
})
