import { readdir, readFile, readlink } from 'node:fs/promises'
import process from 'node:process'

/** Entry file of an agent process: the built bundle, or the sources. */
const agentEntries = /\/(?:agent\/src\/main\.ts|agent-[\da-f]{16}\/agent\.cjs)$/

/** A live agent process as `/proc` shows it. */
export interface LiveAgent {
  readonly pid: number
  /** Process group; all processes of one start of an agent share it. */
  readonly group: number
  /** Data folder of the agent. */
  readonly folder: string
}

/** Lists every live agent process of this home, also those that the mesh does not know. Reads only `/proc`. */
export async function liveAgents(home: string): Promise<readonly LiveAgent[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(pids.map((pid) => agentOf(Number(pid), home)))
  return found.filter((one) => one !== null)
}

async function agentOf(pid: number, home: string): Promise<LiveAgent | null> {
  const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')
  const words = (await read('cmdline')).split('\0')
  // The shell that starts an agent has the same words after `-c`; programs that the agent started do not.
  if (words[1] === '-c' || !words.some((word) => agentEntries.test(word))) return null
  const folder = /(?:^|\0)FLOTILLA_DATA=([^\0]*)/.exec(await read('environ'))?.[1]
  if (folder === undefined || !folder.startsWith(`${home}/`)) return null
  const stat = await read('stat')
  const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2])
  return { pid, group, folder }
}

/** Kills every process whose data folder is below this home: agents, and programs that outlived them. */
export async function endProcessesOf(home: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  let ended = 0
  for (const pid of pids) {
    const folder = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    if (!folder.startsWith(`${home}/`) || Number(pid) === process.pid) continue
    try {
      process.kill(Number(pid), 'SIGKILL')
      ended += 1
    } catch {
      // The process ended by itself in between.
    }
  }
  return ended
}
