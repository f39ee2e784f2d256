import * as fs from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { makeHome } from '@flotilla/protocol/home-folder'
import { createMesh } from '../mesh.ts'
import {
  dataPaths,
  isRestoreUnfinished,
  lockHome,
  openHomeFolder,
  readTextFile,
  removeUnfinishedWrites,
  writeFileAtomically,
} from '../../config/index.ts'
import { Problem } from '@flotilla/protocol/problem'
import type { DataPaths } from '../../config/index.ts'
import type { LineOutput } from '../../platform/index.ts'
import { createLog, productVersion, systemClock } from '../../platform/index.ts'
import { notedCluster, refuseElsewhere, runtimeKind } from '../choose-cluster.ts'
import { holdLedger } from '../hold-ledger.ts'
import { tellStep } from './tell-step.ts'
import { closeAfter } from './close-after.ts'
import type { CommandContext } from './command-context.ts'

/** Runs the mesh until it is asked to stop. Says that it is ready only once it has answered itself. */
export async function serve(context: CommandContext, output: LineOutput): Promise<number> {
  const { environment, tell, stopped } = context
  const loadedMs = performance.now()
  await keepMemoryOutOfDumps()
  const paths = dataPaths(environment.home)
  // Held before anything is made in it: two starts at once would each give it an id.
  makeHome(fs, paths.home)
  const lock = await lockHome(paths.home, { pid: context.pid, deed: 'starting' })
  await refuseUnfinishedRestore(paths)
  const noted = notedCluster(paths.clusterFile)
  refuseElsewhere(environment, noted)
  const home = await openHomeFolder(paths)
  const log = createLog(environment.logLevel, output, { pid: context.pid })
  for (const warning of environment.warnings) log.warn({}, warning)
  // Before anything of the home is changed: another machine may work on it.
  const held = await holdLedger({ context, homeId: home.homeId, paths, log })
  const unfinished = await removeUnfinishedWrites(paths, systemClock.now())
  if (unfinished > 0) log.info({ files: unfinished }, 'unfinished writes of a killed mesh were taken away')
  const mesh = await createMesh({ context, home, paths, log, fence: held?.fence ?? null }).catch(
    async (error: unknown) => {
      await held?.release()
      throw error
    },
  )
  const composedMs = performance.now()
  const live = async (): Promise<number> => {
    const { url, port, agentPort, proxyPort, notices } = await mesh.start(tellStep(tell))
    const state = {
      pid: context.pid,
      // A process id is given again to others; with the moment of its birth it is not.
      process_started: await processStarted(),
      port,
      url,
      agent_port: agentPort,
      runtime: runtimeKind(environment, noted),
      isolation: environment.isolation,
      proxy_port: proxyPort,
      started_at: systemClock.now(),
      version: productVersion,
    }
    lock.now('running')
    await writeFileAtomically(paths.stateFile, `${JSON.stringify(state)}\n`, 0o600)
    // Since the process began: where the time goes until a mesh that died is there again.
    const sinceBegin = { loadedMs, composedMs, readyMs: performance.now() }
    log.info(rounded(sinceBegin), 'the mesh is ready and takes work')
    tell({ ready: true, url, pid: context.pid, notices })
    if (!stopped.aborted)
      await new Promise((resolve) => stopped.addEventListener('abort', resolve, { once: true }))
    log.info({}, 'the mesh is stopping; nothing new begins, and agents are stopped')
    return 0
  }
  const removeState = () => rm(paths.stateFile, { force: true })
  // What of it still lives holds the home: its lock goes with the process where it could not be closed.
  const close = async () => {
    await mesh.close()
    await held?.release()
    await lock.release()
  }
  return closeAfter(live, [close, removeState], log)
}

/** Problem `conflict`: half a fleet would begin with half of what it knows. */
async function refuseUnfinishedRestore(paths: DataPaths): Promise<void> {
  if (!(await isRestoreUnfinished(paths))) return
  throw new Problem('conflict', {
    detail: `a restore into ${paths.home} was cut off, so that it is not whole`,
    repair: 'Run flotilla restore FILE again for the same home; it begins anew.',
  })
}

/**
 * What the system writes of a process that breaks down is a file with all of its memory, where somebody has asked for such: the seed of
 * the wallet and every secret in clear. Of this one, and of whatever it starts, none of it is written.
 */
async function keepMemoryOutOfDumps(): Promise<void> {
  // Other systems have no such file, and a sandbox may not let it be written: then what the user of the mesh asked for holds.
  await writeFile('/proc/self/coredump_filter', '0').catch(() => {})
}

/** In ticks since the machine started; null where the system does not say. */
async function processStarted(): Promise<number | null> {
  const text = await readTextFile('/proc/self/stat')
  return text === null ? null : Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[19])
}

function rounded(times: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, Math.round(ms)]))
}
