import { networkInterfaces } from 'node:os'
import { ulimitsOf } from '../engine/engine-dialect.ts'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from '../image/engine-images.ts'
import { lastWords, runCommand } from '../run-command.ts'
import { SandboxError } from '../sandbox-error.ts'

/** The time limit of the command that gives the network bridge its address, in milliseconds. */
const commandTimeoutMs = 10_000

/** Returns the name of the container that keeps a home's bridge up. */
export function anchorName(network: string): string {
  return `${network}-anchor`
}

export interface PrivateNetwork {
  readonly name: string
  /** The host's interface on the bridge. */
  readonly bridge: string
  readonly subnet: string
  /** The mesh's address on it. */
  readonly gateway: string
}

/**
 * Podman creates a bridge with the first container on it and deletes it with the last, and gives an internal bridge
 * no host address. The mesh needs that address from its start on, so this adds the address, and a sleeping container
 * keeps the bridge up. Needs root. Rejects with `SandboxError` `network-unusable`.
 */
export async function holdBridge(
  engine: Engine,
  hold: { readonly network: PrivateNetwork; readonly image: string; readonly homeTag: string },
): Promise<void> {
  const { network } = hold
  const anchor = engine.docker.getContainer(anchorName(network.name))
  const running = await anchor.inspect().then(
    (found) => found.State.Running,
    () => false,
  )
  if (!running) {
    await anchor.remove({ force: true }).catch((error: unknown) => {
      if (!isStatus(error, 404)) throw error
    })
    const made = await engine.docker.createContainer({
      name: anchorName(network.name),
      Image: hold.image,
      Cmd: ['sleep', 'infinity'],
      User: '1000:1000',
      Labels: { 'flotilla.home': hold.homeTag, 'flotilla.role': 'anchor' },
      HostConfig: {
        NetworkMode: network.name,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        ReadonlyRootfs: true,
        PidsLimit: 4,
        Memory: 16 * 1024 * 1024,
        Ulimits: await ulimitsOf(engine),
      },
    })
    await made.start()
  }
  const addresses = Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).map((entry) => entry.address),
  )
  if (addresses.includes(network.gateway)) return
  const bits = network.subnet.split('/')[1] ?? '22'
  const done = await runCommand(
    'ip',
    ['address', 'replace', `${network.gateway}/${bits}`, 'dev', network.bridge],
    { timeoutMs: commandTimeoutMs },
  )
  if (done.code !== 0) {
    throw new SandboxError(
      'network-unusable',
      `The bridge ${network.bridge} could not be given its address: ${lastWords(done)}\nRepair: run Flotilla as root, or use Docker.`,
    )
  }
}
