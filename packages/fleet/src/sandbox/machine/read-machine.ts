import type { Engine } from '../engine/connect-engine.ts'
import { labelKeys, type ContainerGround } from '../hardening/container-options.ts'
import { SandboxError } from '../sandbox-error.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import { homeTag, sandboxHardening } from '../sandbox-spec.ts'
import { processLimits } from './machine-options.ts'
import { machineContainer, type MachineGround } from './machine-plan.ts'

/** The size of the header of one frame of the container's output, in bytes. */
const headBytes = 8
const streamOut = 1

/**
 * Reads the disk of a virtual machine as an archive, in a second virtual machine, because the host never mounts a
 * file system that an agent's kernel wrote. Nothing may write to the disk during the reading. A caller that stops
 * early ends the reading.
 */
export async function* readMachineDisk(
  engine: Engine,
  of: {
    readonly ground: ContainerGround
    readonly machine: MachineGround
    readonly path: string
  },
): AsyncGenerator<Uint8Array> {
  const { ground, machine } = of
  const size = {
    memoryLimitBytes: sandboxSizes.operator.memoryLimitBytes,
    cpu: { quotaUs: 100_000, periodUs: 100_000 },
    pidsLimit: sandboxHardening.pidsLimit,
    tmpSizeBytes: sandboxHardening.tmpSizeBytes,
  }
  const made = machineContainer(
    { ground, machine, size },
    {
      mode: 'read',
      args: [],
      environment: {},
      hostName: 'reader',
      limits: processLimits,
      disk: { path: of.path, fileBytes: 0, blocks: 0 },
      briefingDirectory: null,
      files: null,
    },
  )
  const container = await engine.docker.createContainer({
    Image: made.image,
    Cmd: [...made.command],
    Env: [...made.env],
    User: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
    Labels: { [labelKeys.home]: homeTag(ground.homeId), [labelKeys.role]: 'backup' },
    // The output is an archive, which the engine must not copy to a log.
    HostConfig: { ...made.host, LogConfig: { Type: 'none', Config: {} } },
    AttachStdout: true,
    AttachStderr: true,
  })
  try {
    const stream = await container.attach({ stream: true, stdout: true, stderr: true })
    const ended = container.wait({ condition: 'next-exit' })
    ended.catch(() => undefined)
    await container.start()
    const errorOutput = { last: '' }
    yield* printed(stream, errorOutput)
    const { StatusCode } = await ended
    if (StatusCode === 0) return
    throw new SandboxError(
      'machine-disk-unreadable',
      `The disk of an agent's virtual machine could not be read: ${errorOutput.last.trim().slice(-300)}\nRepair: start the agent, which repairs its disk, and repeat the command.`,
    )
  } finally {
    await container.remove({ force: true, v: true }).catch(() => undefined)
  }
}

/** Yields a container's standard output from the engine's frames; stores its standard error in `errorOutput`. */
async function* printed(
  stream: AsyncIterable<Uint8Array | string>,
  errorOutput: { last: string },
): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0)
  for await (const piece of stream) {
    rest = Buffer.concat([rest, Buffer.from(piece)])
    while (rest.length >= headBytes && rest.length >= headBytes + rest.readUInt32BE(4)) {
      const end = headBytes + rest.readUInt32BE(4)
      const content = rest.subarray(headBytes, end)
      if (rest.readUInt8(0) === streamOut) yield content
      else errorOutput.last = `${errorOutput.last}${content.toString('utf8')}`.slice(-1_000)
      rest = rest.subarray(end)
    }
  }
}

/** Flushes a virtual machine's writes and freezes its file system. Returns false if that failed. */
export async function holdMachine(engine: Engine, containerId: string): Promise<boolean> {
  return (await ask(engine, containerId, ['freeze', 'frozen'])) === 0
}

export async function releaseMachine(engine: Engine, containerId: string): Promise<void> {
  await ask(engine, containerId, ['thaw', 'thawed'])
}

async function ask({ docker }: Engine, containerId: string, words: readonly string[]): Promise<number> {
  const asking = await docker.getContainer(containerId).exec({
    Cmd: ['/machine/ask.sh', ...words],
    AttachStdout: true,
    AttachStderr: true,
  })
  const stream = await asking.start({})
  for await (const _ of stream) continue
  return (await asking.inspect()).ExitCode ?? 1
}
