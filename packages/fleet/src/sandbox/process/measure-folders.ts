import { existsSync } from 'node:fs'
import { runCommand } from '../run-command.ts'
import type { DataUse } from '../sandbox-runtime.ts'
import { countMaxSeconds, countScript, foldersPerCountMax, readCounts } from '../measure-use.ts'

/** Counts the content of folders on this machine; folders that do not exist are left out. */
export async function measureFolders(
  folders: readonly { readonly agentId: string; readonly path: string }[],
): Promise<ReadonlyMap<string, DataUse>> {
  const there = folders.filter(({ path }) => existsSync(path))
  const uses = new Map<string, DataUse>()
  for (let from = 0; from < there.length; from += foldersPerCountMax) {
    const part = there.slice(from, from + foldersPerCountMax)
    const script = countScript(part.map(({ path }) => path))
    const timeoutMs = (countMaxSeconds * part.length + 30) * 1000
    const { stdout } = await runCommand('sh', ['-c', script], { timeoutMs })
    const counts = readCounts(stdout)
    part.forEach(({ agentId }, index) => {
      const use = counts[index]
      if (use) uses.set(agentId, use)
    })
  }
  return uses
}
