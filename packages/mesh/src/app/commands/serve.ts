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
} from '@flotilla/foundation/config'
import { Problem } from '@flotilla/protocol/problem'
import type { DataPaths } from '@flotilla/foundation/config'
import type { LineOutput } from '@flotilla/foundation/platform'
import { boundLog, createLog, logMaxBytes, productVersion, systemClock } from '@flotilla/foundation/platform'
import { notedCluster, refuseElsewhere, runtimeKind } from '../choose-cluster.ts'
import { holdLedger } from '../hold-ledger.ts'
import { printStep } from './print-step.ts'
import { closeAfter } from './close-after.ts'
import type { CommandContext } from './command-context.ts'

/**
 * Runs the mesh until the process is asked to stop. Reports that the mesh is ready once it answered its own request.
 */
export async function serve(context: CommandContext, output: LineOutput): Promise<number> {
  const { environment, print, stopped } = context
  const loadedMs = performance.now()
  await keepMemoryOutOfDumps()
  const paths = dataPaths(environment.home)
  // The home is locked before anything is created: two concurrent starts would each give it an id.
  makeHome(fs, paths.home)
  const lock = await lockHome(paths.home, { pid: context.pid, deed: 'starting' })
  await refuseUnfinishedRestore(paths)
  const noted = notedCluster(paths.clusterFile)
  refuseElsewhere(environment, noted)
  const home = await openHomeFolder(paths)
  const log = createLog(environment.logLevel, output, { pid: context.pid })
  const logFile = { path: paths.logFile, descriptor: 1, maxBytes: logMaxBytes }
  void boundLog(logFile, { clock: systemClock, log, signal: stopped })
  for (const warning of environment.warnings) log.warn({}, warning)
  // The lease is acquired before the home is changed, because a mesh on another machine may use the home.
  const held = await holdLedger({ context, homeId: home.homeId, paths, log })
  const unfinished = await removeUnfinishedWrites(paths, systemClock.now())
  if (unfinished > 0) log.info({ files: unfinished }, 'deleted unfinished writes of a killed mesh')
  const mesh = await createMesh({ context, home, paths, log, fence: held?.fence ?? null }).catch(
    async (error: unknown) => {
      await held?.release()
      throw error
    },
  )
  const composedMs = performance.now()
  const live = async (): Promise<number> => {
    const { url, port, agentPort, proxyPort, notices } = await mesh.start(printStep(print))
    const state = {
      pid: context.pid,
      // Process ids are reused; only id and start time together identify the process.
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
    // Times are measured from the start of the process, to show how long a crashed mesh takes to return.
    const sinceBegin = { loadedMs, composedMs, readyMs: performance.now() }
    log.info(rounded(sinceBegin), 'the mesh is ready and accepts work')
    print({ ready: true, url, pid: context.pid, notices })
    if (!stopped.aborted)
      await new Promise((resolve) => stopped.addEventListener('abort', resolve, { once: true }))
    log.info({}, 'the mesh is stopping; nothing new begins, and agents are stopped')
    return 0
  }
  const removeState = () => rm(paths.stateFile, { force: true })
  // If a part fails to close, it still uses the home, so the lock is kept until the process ends.
  const close = async () => {
    await mesh.close()
    await held?.release()
    await lock.release()
  }
  return closeAfter(live, [close, removeState], log)
}

/** Throws the problem `conflict` after an interrupted restore, because a partly restored fleet must not start. */
async function refuseUnfinishedRestore(paths: DataPaths): Promise<void> {
  if (!(await isRestoreUnfinished(paths))) return
  throw new Problem('conflict', {
    detail: `a restore into ${paths.home} was interrupted, so the home is incomplete`,
    repair: 'Run flotilla restore FILE again for the same home; it starts from the beginning.',
  })
}

/** Keeps the memory of this process and its children, with the wallet's seed and every secret, out of core dumps. */
async function keepMemoryOutOfDumps(): Promise<void> {
  // Systems other than Linux lack this file, and a sandbox may forbid the write; then the system's setting applies.
  await writeFile('/proc/self/coredump_filter', '0').catch(() => {})
}

/** Returns the start time of this process in clock ticks since boot; null if the system does not report it. */
async function processStarted(): Promise<number | null> {
  const text = await readTextFile('/proc/self/stat')
  return text === null ? null : Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[19])
}

function rounded(times: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, Math.round(ms)]))
}
