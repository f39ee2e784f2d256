import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { endProcessesOf, liveAgents } from './agent-processes.ts'
import { effectsOfLines } from './ground.ts'
import type { Ground } from './ground.ts'
import { commandsFile } from './steps.ts'

/** Agents as plain processes of this machine. */
export function processGround(home: string, disturbances: Ground['disturbances'] = []): Ground {
  const folders = join(home, 'data', 'agents')
  const nameOf = (folder: string): string => Buffer.from(folder, 'hex').toString()

  /** Returns the process id that the mesh has stored for each agent. */
  async function known(): Promise<Map<string, number>> {
    const found = new Map<string, number>()
    for (const folder of await readdir(folders).catch(() => [])) {
      const text = await readFile(join(folders, folder, 'sandbox.json'), 'utf8').catch(() => null)
      if (text !== null) found.set(folder, (JSON.parse(text) as { pid: number }).pid)
    }
    return found
  }

  async function living() {
    const live = await liveAgents(home)
    return live.map((one) => ({ ...one, folder: one.folder.slice(folders.length + 1).split('/')[0] ?? '' }))
  }

  return {
    kind: 'process',
    disturbances,
    async agents() {
      const [groups, live] = [await known(), await living()]
      return live
        .filter(({ folder, group }) => groups.get(folder) === group)
        .map(({ folder }) => nameOf(folder))
    },
    agentLog: (agent) => readFile(join(folders, Buffer.from(agent).toString('hex'), 'log'), 'utf8'),
    async kill(agent) {
      const pid = (await known()).get(Buffer.from(agent).toString('hex'))
      if (pid === undefined || !(await living()).some(({ group }) => group === pid)) return false
      try {
        process.kill(-pid, 'SIGKILL')
        return true
      } catch {
        return false
      }
    },
    async commandEffects() {
      const names = await readdir(folders).catch(() => [])
      const texts = await Promise.all(
        names.map(async (folder) => {
          const text = await readFile(join(folders, folder, 'data', commandsFile), 'utf8').catch(() => '')
          return effectsOfLines(nameOf(folder), text)
        }),
      )
      return texts.flat()
    },
    async strangers() {
      const [groups, live] = [await known(), await living()]
      const words = live.map(
        ({ pid, group, folder }) => `process ${pid} (group ${group}) of ${nameOf(folder)}`,
      )
      const strange = live.flatMap(({ folder, group }, index) =>
        groups.get(folder) === group
          ? []
          : [
              {
                check: 'orphan' as const,
                what: `${words[index]}: the mesh knows ${groups.get(folder) ?? 'none'}`,
              },
            ],
      )
      const doubled = [...Map.groupBy(live, ({ folder }) => folder)].filter(([, found]) => found.length > 1)
      return [
        ...strange,
        ...doubled.map(([folder, found]) => ({
          check: 'two-on-one-folder' as const,
          what: `${nameOf(folder)} has ${found.length} processes on one data folder: ${found.map(({ pid }) => pid).join(', ')}`,
        })),
      ]
    },
    async afterStop() {
      return (await living()).map(({ pid, folder }) => ({
        check: 'after-stop' as const,
        what: `process ${pid} of ${nameOf(folder)} lives after flotilla stop`,
      }))
    },
    async afterReset() {
      await endProcessesOf(home)
      return []
    },
  }
}
