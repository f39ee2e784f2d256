import type { Engine } from '../engine/connect-engine.ts'
import { lastWords, runCommand } from '../run-command.ts'
import { SandboxError } from '../sandbox-error.ts'
import { runOnce } from '../engine/run-once.ts'

/** The time limit of one script that sets firewall rules, in milliseconds. */
const scriptTimeoutMs = 20_000

export interface RuleWorker {
  readonly engine: Engine
  /** An image with iptables, used if the host's own cannot be used. */
  readonly image: string
  /** 0 if the mesh is root. */
  readonly uid: number
  readonly homeTag: string
}

/**
 * Runs a script of `agent-firewall.ts` on the host's firewall: directly if the mesh is root and iptables is
 * installed, else from a short-lived container in the host's network with only the needed capability.
 * Rejects with `SandboxError` `network-rules-failed`.
 */
export async function applyRules(
  worker: RuleWorker,
  script: string,
  signal?: AbortSignal,
): Promise<'host' | 'container'> {
  if (worker.uid === 0 && (await hasIptables())) {
    const done = await runCommand('sh', ['-c', script], { timeoutMs: scriptTimeoutMs, signal })
    if (done.code !== 0) throw failed('iptables', lastWords(done))
    return 'host'
  }
  const done = await runOnce(worker.engine, {
    image: worker.image,
    command: ['sh', '-c', script],
    labels: { 'flotilla.home': worker.homeTag, 'flotilla.role': 'firewall' },
    timeoutMs: scriptTimeoutMs,
    host: {
      NetworkMode: 'host',
      CapDrop: ['ALL'],
      CapAdd: ['NET_ADMIN', 'NET_RAW'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: true,
      Tmpfs: { '/run': 'size=1m' },
    },
    user: '0:0',
    signal,
  })
  if (done.code !== 0)
    throw failed(
      'the helper container',
      done.output.trim().slice(-800) || `the helper ended with exit code ${done.code} without output`,
    )
  return 'container'
}

async function hasIptables(): Promise<boolean> {
  return (await runCommand('iptables', ['--version'], { timeoutMs: scriptTimeoutMs })).code === 0
}

function failed(what: string, output: string): SandboxError {
  return new SandboxError(
    'network-rules-failed',
    `The firewall rules of the agents' network could not be set (${what}): ${output}\nRepair: Try it by hand: sudo iptables -w 5 -L DOCKER-USER. Where the program is missing: sudo apt-get install -y iptables. Run the mesh as root or as a user who may use the container engine; flotilla doctor tells which engine that is.`,
  )
}
