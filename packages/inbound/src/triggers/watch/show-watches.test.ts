import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { migrated } from '../../../../testing/src/ledger-harness.ts'
import type { ScanFolder } from './scan-folder.ts'
import { createShowWatches } from './show-watches.ts'
import { createWatchTable } from './watch-table.ts'
import { createWatchersFile } from './watchers-file.ts'

test('a check reports a folder that does not respond and continues with the others', async () => {
  const home = await mkdtemp(join(tmpdir(), 'flotilla-check-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const path = join(home, 'watchers.yaml')
  const watcher = (folder: string) => `  - { path: ${folder}, pattern: '*', agent: clerk, message: m }\n`
  await writeFile(path, `watchers:\n${watcher('/gone')}${watcher(home)}`)
  const scanFolder: ScanFolder = async (folder, { signal }) => {
    if (folder !== '/gone') return { kind: 'whole', leftOut: false }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    throw signal.reason
  }
  const show = createShowWatches({
    path,
    file: createWatchersFile(path),
    watches: {
      active: () => [],
      counts: () => ({ done: 0, skipped: 0, longestMs: 0 }),
      refresh: async () => {},
      poll: async () => {},
      run: async () => {},
    },
    table: createWatchTable(migrated()),
    scanFolder,
    guard: () => {},
    findRun: () => null,
    checkMaxMs: 20,
  })
  const { watches } = await show.check({ kind: 'human', role: 'owner', channel: 'cli' })
  expect(watches.map(({ trouble }) => trouble)).toEqual(['the folder did not answer within 0.02 s', null])
})
