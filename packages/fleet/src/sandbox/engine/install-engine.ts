import { access } from 'node:fs/promises'
import { lastWords, runCommand } from '../run-command.ts'
import { SandboxError } from '../sandbox-error.ts'
import { enginePackages } from './engine-packages.mjs'

/** The time limit of one `apt-get` command that installs the engine, in milliseconds. */
const aptTimeoutMs = 10 * 60_000

/** The commands for the owner if the mesh may not or cannot install the engine itself. */
export const installCommands: readonly string[] = [
  'sudo apt-get update',
  `sudo apt-get install -y --no-install-recommends ${enginePackages.join(' ')}`,
  'sudo systemctl start docker   # without systemd: sudo dockerd &',
]

export async function canInstall(uid: number): Promise<boolean> {
  if (uid !== 0) return false
  return access('/usr/bin/apt-get').then(
    () => true,
    () => false,
  )
}

/** Installs packages with apt; needs root and a Debian-like system. Rejects with the last output of apt. */
export async function installPackages(
  packages: readonly string[],
  options: { readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const apt = [
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    '-o',
    'Acquire::Retries=3',
    '-o',
    'DPkg::Lock::Timeout=300',
  ]
  const steps = [
    [...apt, 'update'],
    [...apt, 'install', '-y', '--no-install-recommends', ...packages],
  ]
  for (const args of steps) {
    const done = await runCommand('env', args, { timeoutMs: aptTimeoutMs, signal: options.signal })
    if (done.code !== 0) {
      throw new SandboxError(
        'package-install-failed',
        `apt-get could not install ${packages.join(' ')}:\n${lastWords(done)}\nRepair: run\n  ${installCommands.slice(0, 2).join('\n  ')}`,
      )
    }
  }
}
