/** Receives bytes as they arrive; after `end` or `fail` it gets nothing more. */
export interface ByteSink {
  /** Takes a piece. False asks the source to pause until `resume`; the sink accepts further pieces all the same. */
  write(bytes: Uint8Array): boolean
  end(): void
  fail(error: unknown): void
}

/** The reader's control of a flow of bytes. */
export interface ByteFlow {
  resume(): void
  /** Ends the flow for the reader; neither `end` nor `fail` follows. */
  cut(): void
}

/**
 * A stream that pushes bytes, for paths on which an async iterator per piece costs too much. It can be read once:
 * piped, or iterated, which is slower.
 */
export interface ByteStream extends AsyncIterable<Uint8Array> {
  pipe(sink: ByteSink): ByteFlow
}

export function createByteStream(pipe: (sink: ByteSink) => ByteFlow): ByteStream {
  return { pipe, [Symbol.asyncIterator]: () => iterate(pipe) }
}

/** Sends `source` to `sink`: directly for a ByteStream, otherwise by iteration. */
export function pipeBytes(source: AsyncIterable<Uint8Array>, sink: ByteSink): ByteFlow {
  return isByteStream(source) ? source.pipe(sink) : pull(source, sink)
}

function isByteStream(source: AsyncIterable<Uint8Array>): source is ByteStream {
  return 'pipe' in source
}

function pull(source: AsyncIterable<Uint8Array>, sink: ByteSink): ByteFlow {
  const iterator = source[Symbol.asyncIterator]()
  let isOver = false
  let room: PromiseWithResolvers<void> | null = null

  async function run(): Promise<void> {
    for (;;) {
      const next = await iterator.next()
      if (isOver) return
      if (next.done === true) break
      if (sink.write(next.value)) continue
      room = Promise.withResolvers<void>()
      await room.promise
    }
    isOver = true
    sink.end()
  }

  run().catch((error: unknown) => {
    if (isOver) return
    isOver = true
    sink.fail(error)
  })
  return {
    resume: () => room?.resolve(),
    cut: () => {
      if (isOver) return
      isOver = true
      room?.resolve()
      void iterator.return?.()?.catch(() => {})
    },
  }
}

async function* iterate(pipe: (sink: ByteSink) => ByteFlow): AsyncGenerator<Uint8Array> {
  const waiting: Uint8Array[] = []
  let ending: { readonly error: unknown } | 'end' | null = null
  let bell = Promise.withResolvers<void>()
  const ring = () => {
    bell.resolve()
    bell = Promise.withResolvers()
  }
  const flow = pipe({
    write: (bytes) => {
      waiting.push(bytes)
      ring()
      return false
    },
    end: () => {
      ending = 'end'
      ring()
    },
    fail: (error) => {
      ending = { error }
      ring()
    },
  })
  try {
    for (;;) {
      const next = waiting.shift()
      if (next) {
        yield next
        continue
      }
      const ended = ending as { readonly error: unknown } | 'end' | null
      if (ended === 'end') return
      if (ended !== null) throw ended.error
      const rung = bell.promise
      flow.resume()
      if (waiting.length === 0 && ending === null) await rung
    }
  } finally {
    flow.cut()
  }
}
