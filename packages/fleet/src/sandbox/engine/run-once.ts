import { PassThrough } from 'node:stream'
import type Dockerode from 'dockerode'
import { ulimitsOf } from './engine-dialect.ts'
import type { Engine } from './connect-engine.ts'
import { SandboxError } from '../sandbox-error.ts'

/** How many bytes of a throw-away container's output are kept. */
const outputMaxBytes = 256 * 1024

export interface OnceOptions {
  readonly image: string
  readonly command: readonly string[]
  /** `NAME=value`, added to the image's environment. */
  readonly env?: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly host: Dockerode.HostConfig
  readonly networkingConfig?: Dockerode.ContainerCreateOptions['NetworkingConfig']
  readonly user: string
  /** An archive that is unpacked into the container before its start. */
  readonly archive?: { readonly into: string; readonly tar: NodeJS.ReadableStream }
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Runs a container to its end and removes it in any case. Rejects with `SandboxError` `container-overran` after
 * `timeoutMs`; an exit code other than 0 is a normal result.
 */
export async function runOnce(
  engine: Engine,
  options: OnceOptions,
): Promise<{ readonly code: number; readonly stdout: string; readonly output: string }> {
  const container = await engine.docker.createContainer({
    Image: options.image,
    Cmd: [...options.command],
    Env: [...(options.env ?? [])],
    User: options.user,
    Labels: { ...options.labels },
    HostConfig: { Ulimits: await ulimitsOf(engine), ...options.host },
    ...(options.networkingConfig ? { NetworkingConfig: options.networkingConfig } : {}),
    AttachStdout: true,
    AttachStderr: true,
  })
  try {
    const { archive } = options
    if (archive) await container.putArchive(archive.tar, { path: archive.into })
    const stdout = new PassThrough()
    const stderr = new PassThrough()
    let printed = ''
    let output = ''
    stdout.setEncoding('utf8').on('data', (text: string) => {
      printed = (printed + text).slice(-outputMaxBytes)
      output = (output + text).slice(-outputMaxBytes)
    })
    stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputMaxBytes)
    })
    const stream = await container.attach({ stream: true, stdout: true, stderr: true })
    const streamEnd = new Promise<void>((resolve) => {
      stream.once('end', resolve)
      stream.once('close', resolve)
      stream.once('error', () => resolve())
    })
    engine.docker.modem.demuxStream(stream, stdout, stderr)
    // `wait` is called before the start, because a container may end before a later request arrives.
    const ended = container.wait({ condition: 'next-exit' })
    await container.start()
    const { StatusCode } = await within(ended, options)
    await within(streamEnd, options)
    return { code: StatusCode, stdout: printed, output }
  } finally {
    await container.remove({ force: true, v: true }).catch(() => undefined)
  }
}

function within<Value>(promise: Promise<Value>, options: OnceOptions): Promise<Value> {
  const deadline = AbortSignal.timeout(options.timeoutMs)
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline
  // A rejection of the promise that loses the race is ignored, because an unhandled one would end the mesh.
  promise.catch(() => undefined)
  return new Promise((resolve, reject) => {
    const stop = () =>
      reject(
        deadline.aborted
          ? new SandboxError(
              'container-overran',
              `A helper container did not end within ${options.timeoutMs} ms: ${options.command.join(' ').slice(0, 80)}\nRepair: check the load of this machine, and read the log of the container engine.`,
            )
          : signal.reason,
      )
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
