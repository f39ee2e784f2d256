import { PassThrough, Writable } from 'node:stream'
import type { Readable } from 'node:stream'
import type { KubeConfig } from '@kubernetes/client-node'
import * as z from 'zod'
import { SandboxError } from '../sandbox-error.ts'

/** How much of a program's standard error is kept, characters. */
const stderrMaxChars = 400
/** Stream numbers of an exec connection, and the protocol that can close one stream; see KEP-4006. */
const stdinStream = 0
const closeStream = 255
const closingProtocol = 'v5.channel.k8s.io'

const statusSchema = z.looseObject({
  status: z.string().nullish(),
  message: z.string().nullish(),
  details: z
    .looseObject({
      causes: z
        .array(z.looseObject({ reason: z.string().nullish(), message: z.string().nullish() }))
        .nullish(),
    })
    .nullish(),
})

export interface ExecPlace {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  /** Whether the caller writes to the program's standard input. */
  readonly stdin?: boolean
}

export interface ExecEnd {
  readonly code: number
  /** The end of its standard error. */
  readonly stderr: string
}

/** A program that runs in a container. */
export interface Execution {
  /** The caller must read this stream: the program blocks while its output is not read. */
  readonly stdout: Readable
  /** Rejects if the connection is lost before the program's exit code is known. */
  readonly ended: Promise<ExecEnd>
  /** Resolves when the piece was sent by this process, which does not prove that the program read it. */
  write(piece: Uint8Array): Promise<void>
  /** Closes the program's standard input. API servers before 1.30 cannot pass this on to the program. */
  endInput(): void
  /** Closes the connection; an exit code that was received before stays the result. */
  close(): void
}

/** Runs a program in a pod. The streams are piped, because the client library would buffer both without a limit. */
export async function openExec(
  config: KubeConfig,
  { namespace, pod, container, stdin = false }: ExecPlace,
  command: readonly string[],
): Promise<Execution> {
  const { Exec } = await import('@kubernetes/client-node')
  const stdout = new PassThrough()
  const ended = Promise.withResolvers<ExecEnd>()
  ended.promise.catch(() => undefined)
  let stderr = ''
  let hold: ((isHeld: boolean) => void) | null = null
  const intoStdout = new Writable({
    write(piece: Buffer, _encoding, done) {
      if (!stdout.write(piece)) {
        hold?.(true)
        stdout.once('drain', () => hold?.(false))
      }
      done()
    },
    final(done) {
      stdout.end()
      done()
    },
  })
  const intoStderr = new Writable({
    write(piece: Buffer, _encoding, done) {
      stderr = (stderr + piece.toString('utf8')).slice(-stderrMaxChars)
      done()
    },
  })
  const socket = await new Exec(config).exec(
    namespace,
    pod,
    container,
    [...command],
    intoStdout,
    intoStderr,
    // This stream only makes the client library open an input; `write` sends the input itself.
    stdin ? new PassThrough() : null,
    false,
    (status) => {
      try {
        ended.resolve({ code: exitCodeOf(status), stderr })
      } catch (error) {
        ended.reject(error)
      }
    },
  )
  hold = (isHeld) => (isHeld ? socket.pause() : socket.resume())
  if (stdout.writableNeedDrain) hold(true)
  socket.on('close', () => {
    const lost = new SandboxError(
      'exec-lost',
      `The connection to a program in ${pod} was lost: ${stderr || 'the cluster gave no reason'}\nRepair: repeat the command.`,
    )
    ended.reject(lost)
    // If the exit code was received before the connection closed, the output stream has already ended normally.
    if (!stdout.writableEnded) stdout.destroy(lost)
  })
  return {
    stdout,
    ended: ended.promise,
    write: (piece) =>
      new Promise((resolve, reject) => {
        socket.send(Buffer.concat([Buffer.of(stdinStream), piece]), (error) =>
          error ? reject(error) : resolve(),
        )
      }),
    endInput: () => {
      if (socket.protocol === closingProtocol) socket.send(Buffer.of(closeStream, stdinStream))
    },
    close: () => {
      stdout.on('error', () => undefined)
      socket.resume()
      socket.close()
    },
  }
}

/** Returns the exit code, which the API server reports as text in the cause of a status. Pure. */
export function exitCodeOf(answer: unknown): number {
  const { status, message, details } = statusSchema.parse(answer)
  if (status === 'Success') return 0
  const code = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message
  if (code !== undefined && code !== null && /^\d+$/.test(code)) return Number(code)
  throw new SandboxError(
    'exec-refused',
    `A program in the pod could not be run: ${message ?? 'no reason was given'}\nRepair: repeat the command.`,
  )
}
