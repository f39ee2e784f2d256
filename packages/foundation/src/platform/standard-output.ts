import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import process from 'node:process'
import { createLineOutput, lossSentence } from '@flotilla/protocol/line-output'
import type { LineOutput } from '@flotilla/protocol/line-output'
import { systemClock } from './system-clock.ts'

/** How long a command waits for a reader of its output that reads nothing, milliseconds. */
const readerMaxMs = 30_000
/** The pause between two attempts to write to a full pipe, in milliseconds. */
const readerPollMs = 10

/**
 * Standard output of a process that serves: a full disk, an unread pipe or a closed descriptor can lose lines but
 * never blocks. Also prevents errors of the stream objects, which Node's warnings use, from ending the process.
 */
export function openServingOutput(pid: number): LineOutput {
  surviveBrokenStreams()
  const descriptor = withoutWaiting()
  return lineOutputOn((bytes) => writeSync(descriptor, bytes), pid)
}

/** Standard output of a command, which waits for its reader, because the output is its result. */
export function openCommandOutput(pid: number): LineOutput {
  surviveBrokenStreams()
  return lineOutputOn(writeWaiting, pid)
}

function lineOutputOn(writeSome: (bytes: Uint8Array) => number, pid: number): LineOutput {
  return createLineOutput({
    writeSome,
    lossLine: (lines, code) => lossLine({ lines, code, pid, at: systemClock.now() }),
    later: (work, ms) => void setTimeout(work, ms).unref(),
  })
}

/** Returns the line that reports dropped log lines, in the form of the log. Pure. */
export function lossLine(loss: {
  readonly lines: number
  readonly code: string
  readonly pid: number
  readonly at: number
}): string {
  const { lines, code, pid } = loss
  const msg = lossSentence(lines, code)
  return `${JSON.stringify({ level: 40, time: new Date(loss.at).toISOString(), pid, dropped: lines, msg })}\n`
}

/**
 * Returns a descriptor for standard output on which a write never waits. Opens pipes, terminals and files a second
 * time, because the flag belongs to the open file, which other processes may share.
 */
function withoutWaiting(): number {
  try {
    const { O_WRONLY, O_APPEND, O_NONBLOCK } = constants
    return openSync('/proc/self/fd/1', O_WRONLY | O_APPEND | O_NONBLOCK)
  } catch {
    // A socket cannot be opened again: Node's stream makes it non-blocking. Only Linux has the folder /proc/self.
    if (isSocket()) void process.stdout
    return 1
  }
}

function isSocket(): boolean {
  try {
    return fstatSync(1).isSocket()
  } catch {
    return false
  }
}

function writeWaiting(bytes: Uint8Array): number {
  for (let waitedMs = 0; ; waitedMs += readerPollMs) {
    try {
      return writeSync(1, bytes)
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
      if (!isFull || waitedMs >= readerMaxMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, readerPollMs)
    }
  }
}

function surviveBrokenStreams(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}
