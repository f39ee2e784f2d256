/**
 * Lines for a file, a pipe or a terminal that may fail at any time. Nothing here throws or waits: while a write
 * fails, lines are dropped and counted, and the count is written as a line of its own as soon as there is room
 * again.
 */
export interface LineOutput {
  /** Takes one whole line with its line feed. */
  write(line: string): void
  /** Writes pending lines, as far as possible without waiting. */
  flush(): void
  /** Lines that were dropped since the process started. */
  dropped(): number
}

export interface LineOutputOptions {
  /** Writes some of the bytes and returns their number; throws the system's error on failure. */
  readonly writeSome: (bytes: Uint8Array) => number
  /** The line that reports a loss, with its line feed. */
  readonly lossLine: (lines: number, code: string) => string
  /** Calls `work` after `ms` milliseconds. */
  readonly later: (work: () => void, ms: number) => void
}

/** The maximum bytes of lines that wait in memory while a pipe is full. Further lines are dropped. */
export const heldMaxBytes = 256 * 1024
/** A full pipe is tried again after this time, milliseconds. */
export const fullRetryMs = 50
/** Milliseconds after which a failed destination is tried again, even if no further line is written. */
export const failedRetryMs = 1000

export function createLineOutput(options: LineOutputOptions): LineOutput {
  const encoder = new TextEncoder()
  const held: Uint8Array[] = []
  let heldBytes = 0
  let total = 0
  /** Dropped lines that no line has reported yet, and the code of the last error. */
  let loss = { lines: 0, code: '' }
  /** True if the last written bytes do not end a line, because the destination accepted only part of it. */
  let isTorn = false
  let isWaiting = false

  function drop(lines: number, code: string): void {
    total += lines
    loss = { lines: loss.lines + lines, code }
  }

  function tryLater(ms: number): void {
    if (isWaiting) return
    isWaiting = true
    options.later(() => {
      isWaiting = false
      flush()
    }, ms)
  }

  /** Writes as many bytes as the destination accepts; returns the rest, or the code of the error. */
  function put(bytes: Uint8Array): { readonly left: Uint8Array; readonly code: string | null } {
    let left = bytes
    while (left.length > 0) {
      try {
        const written = options.writeSome(left)
        if (written === 0) return { left, code: 'EAGAIN' }
        left = left.subarray(written)
        isTorn = left.length > 0
      } catch (error) {
        const code = codeOf(error)
        if (code !== 'EINTR') return { left, code }
      }
    }
    return { left, code: null }
  }

  /** Writes how many lines were dropped. Returns false if the destination does not accept that line yet. */
  function reportLoss(): boolean {
    if (loss.lines === 0) return true
    const { code } = put(encoder.encode(`${isTorn ? '\n' : ''}${options.lossLine(loss.lines, loss.code)}`))
    if (code === null) loss = { lines: 0, code: '' }
    else tryLater(code === 'EAGAIN' ? fullRetryMs : failedRetryMs)
    return code === null
  }

  function flush(): void {
    while (held.length > 0) {
      const { left, code } = put(held[0] ?? new Uint8Array())
      if (code === null) heldBytes -= held.shift()?.length ?? 0
      else if (code === 'EAGAIN') {
        heldBytes -= (held[0]?.length ?? 0) - left.length
        held[0] = left
        return tryLater(fullRetryMs)
      } else {
        drop(held.length, code)
        held.length = 0
        heldBytes = 0
        return tryLater(failedRetryMs)
      }
    }
    reportLoss()
  }

  return {
    flush,
    dropped: () => total,
    write(line) {
      const bytes = encoder.encode(line)
      flush()
      // The report of a loss is written where the loss occurred, so no later line may be written before it.
      if (held.length === 0 && loss.lines > 0) return drop(1, loss.code)
      if (heldBytes + bytes.length > heldMaxBytes && held.length > 0) return drop(1, 'EAGAIN')
      held.push(bytes)
      heldBytes += bytes.length
      flush()
    },
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error',
  EFBIG: 'the file has reached its size limit',
  EPIPE: 'the program that reads the log has ended',
  EAGAIN: 'the reader of the log is too slow',
}

/** The sentence that reports a loss. Pure. */
export function lossSentence(lines: number, code: string): string {
  return `dropped ${lines} log lines: ${reasons[code] ?? 'the log could not be written'} (${code})`
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
