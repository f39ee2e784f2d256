import type { Engine } from '../engine/connect-engine.ts'
import { lastWords, runCommand } from '../run-command.ts'

/** The time limit of one command that closes the engine's name server to agents, in milliseconds. */
const timeoutMs = 20_000
/** The address of Docker's name server in every container of a custom network. */
const nameServer = '127.0.0.11'

/** Whether the engine's name server can be blocked inside containers, and if not, why. */
export type NameServerState =
  | { readonly kind: 'none'; /** Containers have no name server. */ readonly why: string }
  | { readonly kind: 'shut' }
  | { readonly kind: 'open'; readonly why: string }

/**
 * Finds out whether the engine's name server is closed. Docker runs a name server inside each container, which no
 * option turns off and which reveals the names and addresses of all containers. Root can block it with a rule in the
 * container's network namespace. An open name server gives no egress: its queries go to the gateway from inside the
 * containers' network, where that port is blocked. For a container without its own upstream server, the host's name
 * server may answer through the host's loopback.
 */
export async function nameServerState(engine: Pick<Engine, 'facts'>, uid: number): Promise<NameServerState> {
  if (engine.facts.flavour === 'podman') {
    return {
      kind: 'none',
      why: 'the name server listens on the gateway, where all ports except those of the mesh are blocked',
    }
  }
  if (uid !== 0) return { kind: 'open', why: 'the mesh does not run as root' }
  for (const program of ['nsenter', 'iptables']) {
    const found = await runCommand(program, ['--version'], { timeoutMs })
    if (found.code !== 0) return { kind: 'open', why: `${program} is not installed on this machine` }
  }
  return { kind: 'shut' }
}

/** Blocks the engine's name server in one running container. Idempotent. Returns null on success, else the reason. */
export async function closeNameServer(networkFile: string | null | undefined): Promise<string | null> {
  if (!networkFile) return 'the engine does not say where the network of the container is'
  const withRule = (how: string) => {
    const rule = [how, 'OUTPUT', '-d', nameServer, '-j', 'REJECT']
    return runCommand('nsenter', [`--net=${networkFile}`, 'iptables', '-w', '5', ...rule], { timeoutMs })
  }
  if ((await withRule('-C')).code === 0) return null
  const done = await withRule('-I')
  return done.code === 0 ? null : lastWords(done)
}
