import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import type { Clock } from '@flotilla/protocol/clock'
import type { Engine } from '../engine/connect-engine.ts'
import { findKvm } from '../engine/find-kvm.ts'
import { canInstall, installPackages } from '../engine/install-engine.ts'
import { ownDockerd, writeDockerdSettings } from '../engine/start-dockerd.ts'
import { filterArgument, gvisorRuntimes, runtimeEntries } from './gvisor-runtimes.ts'

/** Time limit for an engine to reload its settings file, milliseconds. */
const reloadMs = 10_000
/** The pause between two checks whether the engine lists gVisor, in milliseconds. */
const askEveryMs = 100
const gvisorPackage = 'runsc'

export interface RegisterOptions {
  readonly uid: number
  readonly noInstall: boolean
  readonly stateDirectory: string
  /** PATH of the mesh. */
  readonly path: string
  readonly clock: Clock
}

/** The commands that the owner must run if the mesh may not run them. */
const installWords = `sudo apt-get install -y --no-install-recommends ${gvisorPackage}`
const registerWords = `add runsc under "runtimes" in the engine's daemon.json, such as {"runsc": {"path": "/usr/bin/runsc", "runtimeArgs": ["--platform=systrap", "${filterArgument}"]}}, then sudo systemctl reload docker`

/**
 * Registers gVisor with an engine that the mesh started, and installs gVisor's package if allowed. Never changes
 * another engine. Returns null if gVisor is registered, else the reason and the repair.
 */
export async function registerGvisor(
  engine: Engine,
  options: RegisterOptions,
): Promise<{ readonly why: string; readonly repair: string } | null> {
  const own = await ownDockerd(options.stateDirectory)
  const found = await findProgram(options.path)
  if (own === null) {
    const why = `${found === null ? 'runsc is not installed, and ' : ''}the mesh did not start this container engine, so it does not change the engine's settings`
    return {
      why,
      repair: found === null ? `Run: ${installWords}; then ${registerWords}.` : `Next: ${registerWords}.`,
    }
  }
  if (found === null && (options.noInstall || !(await canInstall(options.uid)))) {
    return {
      why: 'runsc (gVisor) is not installed, and the mesh may not install it',
      repair: `Run: ${installWords}.`,
    }
  }
  if (found === null) await installPackages([gvisorPackage], {})
  const runscPath = found ?? (await findProgram(options.path))
  if (runscPath === null)
    return {
      why: 'the package runsc contains no program with the name runsc',
      repair: `Run: ${installWords}.`,
    }
  await writeDockerdSettings(options.stateDirectory, {
    runtimes: runtimeEntries(runscPath, { virtualizes: (await findKvm()) !== null }),
  })
  process.kill(own.pid, 'SIGHUP')
  const end = options.clock.now() + reloadMs
  while ((await gvisorRuntimes(engine)).length === 0) {
    if (options.clock.now() >= end)
      return {
        why: `the container engine did not load runsc within ${reloadMs / 1000} s`,
        repair: `Read ${join(options.stateDirectory, 'dockerd.log')}.`,
      }
    await options.clock.sleep(askEveryMs)
  }
  return null
}

async function findProgram(path: string): Promise<string | null> {
  for (const folder of new Set([...path.split(delimiter), '/usr/bin', '/usr/local/bin'])) {
    const file = join(folder, 'runsc')
    const isThere = await access(file, constants.X_OK).then(
      () => folder.startsWith('/'),
      () => false,
    )
    if (isThere) return file
  }
  return null
}
